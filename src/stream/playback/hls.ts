import {
  type HlsRendition,
  type HlsSegment,
  type HlsVariant,
  writeMediaPlaylist,
  writeMultivariant,
} from "../../protocol/hls/index.ts";
import { AUDIO_CODECS, renditionRate, videoCodecs } from "../encode/index.ts";
import { firstRung, MAIN_AUDIO, type MediaModel, SOURCE_RENDITION } from "../model.ts";
import { type SourceRenditions, SOURCE_AUDIO, type TextTrack } from "./port.ts";
import { segmentSeconds } from "./rates.ts";
import {
  type AudioChoice,
  audioRates,
  maxBitRates,
  nearestToHint,
  type PlayableVideo,
  playbackSeconds,
  videoRates,
} from "./tracks.ts";

/** GROUP-IDs. The source's group offers the same choices, with the source's own audio. */
const AUDIO_GROUP = "audio";
const SOURCE_GROUP = "source";
const TEXT_GROUP = "text";

/** `/{id}/manifest/video.m3u8`. */
export function hlsMultivariantPlaylist(
  playable: PlayableVideo,
  { bandwidthHint = null }: { bandwidthHint?: string | null } = {},
): string {
  const variants = nearestToHint(
    variantsOf(playable),
    bandwidthHint,
    ({ averageBandwidth, bandwidth }) => averageBandwidth ?? bandwidth,
  );
  const groups = new Set(variants.map(({ audio }) => audio));
  return writeMultivariant({
    variants,
    renditions: [
      ...(groups.has(AUDIO_GROUP) ? playable.audio.map((choice) => audioRendition(choice, AUDIO_GROUP)) : []),
      ...(groups.has(SOURCE_GROUP)
        ? playable.audio.map((choice) => audioRendition(choice, SOURCE_GROUP, playable.source?.audio))
        : []),
      ...playable.text.map(textRendition),
    ],
  });
}

function variantsOf(playable: PlayableVideo): HlsVariant[] {
  const { model, audio, text, source, complete } = playable;
  const subtitles = text.length === 0 ? {} : { subtitles: TEXT_GROUP };
  const audioGroup = audio.length === 0 ? {} : { audio: AUDIO_GROUP };
  const maxAudioRates = maxBitRates(audio.map((choice) => audioRates(playable, choice)));
  if (model.ladder.length === 0)
    return [
      {
        uri: playlistOf(audio.find((choice) => choice.default)?.rendition ?? MAIN_AUDIO),
        bandwidth: maxAudioRates.peak,
        averageBandwidth: maxAudioRates.average,
        codecs: [AUDIO_CODECS],
        ...audioGroup,
        ...subtitles,
      },
    ];

  const rungs = model.ladder.map((rung): HlsVariant => {
    const { peak, average } = videoRates(playable, rung);
    const rate = renditionRate(rung, model);
    return {
      uri: playlistOf(rung.name),
      bandwidth: peak + maxAudioRates.peak,
      averageBandwidth: average + maxAudioRates.average,
      codecs: [videoCodecs(rung, model), ...(audio.length === 0 ? [] : [AUDIO_CODECS])],
      resolution: { width: rung.width, height: rung.height },
      frameRate: rate.num / rate.den,
      ...audioGroup,
      ...subtitles,
    };
  });
  const first = rungs[model.ladder.indexOf(firstRung(model.ladder)!)]!;
  const rest = rungs.filter((rung) => rung !== first);
  if (source === undefined) return [first, ...rest];
  const sourceEntry = sourceVariant(source, playable, subtitles);
  // The source can be played without encoding, so it is listed first until the ladder is complete; after that it is
  // sorted among the H.264 renditions by bandwidth.
  if (!complete) return [sourceEntry, first, ...rest];
  const place =
    rest.findLastIndex(
      ({ codecs: [codec], bandwidth }) => codec!.startsWith("avc1.") && bandwidth <= sourceEntry.bandwidth,
    ) + 1;
  return [first, ...rest.toSpliced(place, 0, sourceEntry)];
}

function sourceVariant(
  { video, audio: sourceAudio }: SourceRenditions,
  playable: PlayableVideo,
  subtitles: Pick<HlsVariant, "subtitles">,
): HlsVariant {
  const isOriginal = ({ rendition }: AudioChoice) => sourceAudio !== undefined && rendition === MAIN_AUDIO;
  const maxAudioRates = maxBitRates(
    playable.audio.map((choice) =>
      isOriginal(choice)
        ? { peak: sourceAudio!.peakBandwidth, average: sourceAudio!.averageBandwidth }
        : audioRates(playable, choice),
    ),
  );
  const codecs = playable.audio.map((choice) => (isOriginal(choice) ? sourceAudio!.codecs : AUDIO_CODECS));
  return {
    uri: playlistOf(SOURCE_RENDITION),
    bandwidth: video.peakBandwidth + maxAudioRates.peak,
    averageBandwidth: video.averageBandwidth + maxAudioRates.average,
    codecs: [...new Set([video.codecs, ...codecs])],
    resolution: { width: video.width, height: video.height },
    frameRate: video.fps,
    ...(playable.audio.length > 0 && { audio: sourceAudio === undefined ? AUDIO_GROUP : SOURCE_GROUP }),
    ...subtitles,
  };
}

function audioRendition(
  { rendition, name, language, default: isDefault, autoselect }: AudioChoice,
  group: string,
  sourceAudio?: SourceRenditions["audio"],
): HlsRendition {
  const isPassthrough = sourceAudio !== undefined && rendition === MAIN_AUDIO;
  return {
    type: "AUDIO",
    group,
    name,
    ...(language !== undefined && { language }),
    uri: playlistOf(isPassthrough ? SOURCE_AUDIO : rendition),
    default: isDefault,
    autoselect,
    channels: isPassthrough ? sourceAudio.channels : 2,
  };
}

const textRendition = ({ language, label }: TextTrack): HlsRendition => ({
  type: "SUBTITLES",
  group: TEXT_GROUP,
  name: label,
  language,
  uri: `text-${language}.m3u8`,
  default: false,
  autoselect: true,
});

/** Served alongside the multivariant playlist; segments are in a sibling folder. */
const playlistOf = (rendition: string) => `${rendition}.m3u8`;
const segmentUri = (rendition: string, segment: number | "init") =>
  `../segments/${rendition}/${segment === "init" ? "init.mp4" : `${segment}.m4s`}`;

/** `/{id}/manifest/<rendition>.m3u8`. Undefined if the rendition does not exist. */
export function hlsMediaPlaylist({ model, audio, source }: PlayableVideo, rendition: string): string | undefined {
  const durations = durationsOf(model, rendition, audio, source);
  return (
    durations &&
    writeMediaPlaylist({
      init: segmentUri(rendition, "init"),
      segments: durations.map((duration, n): HlsSegment => ({ uri: segmentUri(rendition, n), duration })),
    })
  );
}

function durationsOf(
  model: MediaModel,
  rendition: string,
  audio: readonly AudioChoice[],
  source: SourceRenditions | undefined,
): number[] | undefined {
  if (rendition === SOURCE_RENDITION) return source?.video.segments.map(({ duration }) => duration);
  if (rendition === SOURCE_AUDIO) return source?.audio?.segments.map(({ duration }) => duration);
  if (!audio.some((choice) => choice.rendition === rendition) && !model.ladder.some(({ name }) => name === rendition))
    return undefined;
  return Array.from({ length: model.segments.count }, (_, n) => segmentSeconds(model, rendition, n));
}

/**
 * `/{id}/manifest/text-<language>.m3u8`: the whole file as one segment. Its time zero is that of the video (RFC 8216
 * 3.5: the default without X-TIMESTAMP-MAP).
 */
export const hlsText = ({ model }: PlayableVideo, language: string): string =>
  writeMediaPlaylist({ segments: [{ uri: `../captions/${language}.vtt`, duration: playbackSeconds(model) }] });
