import { type AdaptationSet, AFTER_THE_END, type MediaSet, type SegmentTimeline, writeMpd } from "../../protocol/dash/index.ts";
import { AUDIO_BITRATE, AUDIO_CHANNELS, AUDIO_FRAME, AUDIO_RATE, audioFrameCount } from "../encode/audio-grid.ts";
import { AUDIO_CODECS, renditionRate, videoCodecs } from "../encode/codecs.ts";
import type { MediaModel, VideoRendition } from "../model.ts";
import { nearest, type Playable, playedSeconds } from "./tracks.ts";

/** Of the encoder's buffer: with so much ahead, the cap is enough bandwidth (ISO/IEC 23009-1 5.3.5.4). */
const MIN_BUFFER = 2;
const SEGMENTS = { initialization: "../segments/$RepresentationID$/init.mp4", media: "../segments/$RepresentationID$/$Number$.m4s" };

/** `/{id}/manifest/video.mpd`. Without the source as it is: its segments are not those of the ladder, and no player has to cope with that. */
export function dashPresentation({ model, audio, text }: Playable, { bandwidthHint = null }: { bandwidthHint?: string | null } = {}): string {
  const timeline = timelineOf(model);
  const rungs = nearest(model.ladder, bandwidthHint, ({ bitrate }) => bitrate + (audio.length > 0 ? AUDIO_BITRATE : 0));
  const byCodec = [...Map.groupBy(rungs, ({ codec }) => codec).values()];
  const sets: AdaptationSet[] = [
    ...byCodec.map((of): MediaSet => ({ kind: "video", role: "main", timeline, ...SEGMENTS, representations: of.map((rung) => representation(rung, model)) })),
    ...[...audio].sort((a, b) => Number(b.default) - Number(a.default)).map((one): MediaSet => ({
      kind: "audio", role: one.default ? "main" : "alternate", label: one.name, ...(one.language !== undefined && { language: one.language }), timeline, ...SEGMENTS,
      representations: [{ id: one.rendition, codecs: AUDIO_CODECS, bandwidth: AUDIO_BITRATE, channels: AUDIO_CHANNELS, sampleRate: AUDIO_RATE }],
    })),
    ...text.map(({ language, label }) => ({ kind: "text", id: `text-${language}`, language, label, uri: `../captions/${language}.vtt` }) as const),
  ];
  return writeMpd({ duration: (audio.length > 0 ? soundingSeconds(model) : playedSeconds(model)) + AFTER_THE_END, minBuffer: MIN_BUFFER, sets });
}

/**
 * Sound ends with the last frame of AAC that is begun, up to 21 ms after the last picture, and the period is as long as the longest of its tracks.
 * Were it shorter, a player would find its end passed before the media element says so: dash.js 5.2 then seeks back from it and stays there.
 */
const soundingSeconds = ({ segments }: MediaModel): number => (audioFrameCount(segments) * AUDIO_FRAME) / AUDIO_RATE;

function representation(rung: VideoRendition, model: MediaModel): MediaSet["representations"][number] {
  return { id: rung.name, codecs: videoCodecs(rung, model), bandwidth: rung.bitrate, width: rung.width, height: rung.height, frameRate: renditionRate(rung, model) };
}

/** Audio has it too: its segments begin up to a frame of AAC (21 ms) earlier, far within what a player allows for (DASH-IF IOP 3.2.7.1: half a segment). */
const timelineOf = ({ segments: { fps, framesPerSegment, frames } }: MediaModel): SegmentTimeline => ({ timescale: fps.num, segmentDuration: framesPerSegment * fps.den, total: frames * fps.den });
