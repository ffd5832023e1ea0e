import { type HlsRendition, type HlsSegment, type HlsVariant, writeMediaPlaylist, writeMultivariant } from "../../protocol/hls/index.ts";
import { AUDIO_FRAME, AUDIO_RATE, audioFrames } from "../encode/audio-grid.ts";
import { AUDIO_CODECS, renditionRate, videoCodecs } from "../encode/codecs.ts";
import { firstRung } from "../first-rung.ts";
import { MAIN_AUDIO, type MediaModel, SOURCE_RENDITION } from "../model.ts";
import { type SourceRenditions, SOURCE_AUDIO, type TextTrack } from "./port.ts";
import { type AudioChoice, AUDIO_BANDWIDTH, nearest, type Playable, playedSeconds, rungBandwidth } from "./tracks.ts";

/** GROUP-IDs. The source with its own audio has the same choices, but for that. */
const AUDIO_GROUP = "audio";
const SOURCE_GROUP = "source";
const TEXT_GROUP = "text";

/** `/{id}/manifest/video.m3u8`. */
export function hlsMultivariant(playable: Playable, { bandwidthHint = null }: { bandwidthHint?: string | null } = {}): string {
  const variants = nearest(variantsOf(playable), bandwidthHint, ({ averageBandwidth, bandwidth }) => averageBandwidth ?? bandwidth);
  const groups = new Set(variants.map(({ audio }) => audio));
  return writeMultivariant({
    variants,
    renditions: [
      ...(groups.has(AUDIO_GROUP) ? playable.audio.map((one) => audioRendition(one, AUDIO_GROUP)) : []),
      ...(groups.has(SOURCE_GROUP) ? playable.audio.map((one) => audioRendition(one, SOURCE_GROUP, playable.source?.audio)) : []),
      ...playable.text.map(textRendition),
    ],
  });
}

function variantsOf({ model, audio, text, source, complete }: Playable): HlsVariant[] {
  const subtitles = text.length === 0 ? {} : { subtitles: TEXT_GROUP };
  const sound = audio.length === 0 ? {} : { audio: AUDIO_GROUP };
  const heard = audio.length === 0 ? { peak: 0, average: 0 } : AUDIO_BANDWIDTH;
  if (model.ladder.length === 0) return [{ uri: playlistOf(audio.find((one) => one.default)?.rendition ?? MAIN_AUDIO), bandwidth: heard.peak, averageBandwidth: heard.average, codecs: [AUDIO_CODECS], ...sound, ...subtitles }];

  const rungs = model.ladder.map((rung): HlsVariant => {
    const { peak, average } = rungBandwidth(rung.bitrate);
    const rate = renditionRate(rung, model);
    return {
      uri: playlistOf(rung.name), bandwidth: peak + heard.peak, averageBandwidth: average + heard.average, codecs: [videoCodecs(rung, model), ...(audio.length === 0 ? [] : [AUDIO_CODECS])],
      resolution: { width: rung.width, height: rung.height }, frameRate: rate.num / rate.den, ...sound, ...subtitles,
    };
  });
  const first = rungs[model.ladder.indexOf(firstRung(model.ladder)!)]!;
  const laddered = [first, ...rungs.filter((rung) => rung !== first)];
  if (source === undefined) return laddered;
  // What needs no encoding is there at once; later it is the largest of all, and nothing to begin with.
  return complete ? [...laddered, sourceVariant(source, audio.length > 0, subtitles)] : [sourceVariant(source, audio.length > 0, subtitles), ...laddered];
}

function sourceVariant({ video, audio }: SourceRenditions, heard: boolean, subtitles: Pick<HlsVariant, "subtitles">): HlsVariant {
  const sound = !heard ? undefined : audio === undefined ? AUDIO_BANDWIDTH : { peak: audio.peakBandwidth, average: audio.averageBandwidth };
  return {
    uri: playlistOf(SOURCE_RENDITION),
    bandwidth: video.peakBandwidth + (sound?.peak ?? 0),
    averageBandwidth: video.averageBandwidth + (sound?.average ?? 0),
    codecs: [video.codecs, ...(sound === undefined ? [] : [audio?.codecs ?? AUDIO_CODECS])],
    resolution: { width: video.width, height: video.height },
    frameRate: video.fps,
    ...(heard && { audio: audio === undefined ? AUDIO_GROUP : SOURCE_GROUP }),
    ...subtitles,
  };
}

function audioRendition({ rendition, name, language, default: isDefault }: AudioChoice, group: string, original?: SourceRenditions["audio"]): HlsRendition {
  const asItIs = original !== undefined && rendition === MAIN_AUDIO;
  return { type: "AUDIO", group, name, ...(language !== undefined && { language }), uri: playlistOf(asItIs ? SOURCE_AUDIO : rendition), default: isDefault, autoselect: isDefault, channels: asItIs ? original.channels : 2 };
}

const textRendition = ({ language, label }: TextTrack): HlsRendition => ({ type: "SUBTITLES", group: TEXT_GROUP, name: label, language, uri: `text-${language}.m3u8`, default: false, autoselect: true });

/** Beside the multivariant playlist; segments lie a folder over. */
const playlistOf = (rendition: string) => `${rendition}.m3u8`;
const segmentUri = (rendition: string, segment: number | "init") => `../segments/${rendition}/${segment === "init" ? "init.mp4" : `${segment}.m4s`}`;

/** `/{id}/manifest/<rendition>.m3u8`. Undefined: there is no such rendition. */
export function hlsMedia({ model, audio, source }: Playable, rendition: string): string | undefined {
  const durations = durationsOf(model, rendition, audio, source);
  return durations && writeMediaPlaylist({ init: segmentUri(rendition, "init"), segments: durations.map((duration, n): HlsSegment => ({ uri: segmentUri(rendition, n), duration })) });
}

function durationsOf(model: MediaModel, rendition: string, audio: readonly AudioChoice[], source: SourceRenditions | undefined): number[] | undefined {
  const { fps, framesPerSegment, frames, count } = model.segments;
  if (rendition === SOURCE_RENDITION) return source?.video.segments.map(({ duration }) => duration);
  if (rendition === SOURCE_AUDIO) return source?.audio?.segments.map(({ duration }) => duration);
  if (audio.some((one) => one.rendition === rendition)) return Array.from({ length: count }, (_, n) => (audioFrames(model.segments, n).count * AUDIO_FRAME) / AUDIO_RATE);
  if (!model.ladder.some(({ name }) => name === rendition)) return undefined;
  return Array.from({ length: count }, (_, n) => (Math.min(framesPerSegment, frames - n * framesPerSegment) * fps.den) / fps.num);
}

/** `/{id}/manifest/text-<language>.m3u8`: the whole file as one segment. Its second zero is that of the video (RFC 8216 3.5: without X-TIMESTAMP-MAP it is). */
export const hlsText = ({ model }: Playable, language: string): string => writeMediaPlaylist({ segments: [{ uri: `../captions/${language}.vtt`, duration: playedSeconds(model) }] });
