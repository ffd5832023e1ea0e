import {
  type AdaptationSet,
  END_MARGIN_SECONDS,
  type MediaSet,
  type Representation,
  type SegmentTimeline,
  writeMpd,
} from "../../protocol/dash/index.ts";
import {
  AUDIO_CHANNELS,
  AUDIO_CODECS,
  AUDIO_FRAME_SAMPLES,
  AUDIO_RATE,
  audioFrameCount,
  renditionRate,
  videoCodecs,
} from "../encode/index.ts";
import { type MediaModel, SOURCE_RENDITION, type VideoRendition } from "../model.ts";
import { audioRates, maxBitRates, nearestToHint, type PlayableVideo, playbackSeconds, videoRates } from "./tracks.ts";

/**
 * Duration of the encoder's buffer, in seconds: with this much buffered, a bandwidth equal to the cap is sufficient
 * (ISO/IEC 23009-1 5.3.5.4).
 */
const MIN_BUFFER_SECONDS = 2;
const SEGMENTS = {
  initialization: "../segments/$RepresentationID$/init.mp4",
  media: "../segments/$RepresentationID$/$Number$.m4s",
};

/** `/{id}/manifest/video.mpd`. */
export function dashPresentation(
  playable: PlayableVideo,
  { bandwidthHint = null }: { bandwidthHint?: string | null } = {},
): string {
  const { model, audio, text } = playable;
  const timeline = timelineOf(model);
  const maxAudioRates = maxBitRates(audio.map((choice) => audioRates(playable, choice)));
  const byCodec = Map.groupBy(
    nearestToHint(videosOf(playable), bandwidthHint, ({ average }) => average + maxAudioRates.average),
    ({ codec }) => codec,
  );
  const sets: AdaptationSet[] = [
    ...[...byCodec.values()].map((renditionGroup): MediaSet => ({
      kind: "video",
      role: "main",
      timeline,
      ...SEGMENTS,
      representations: renditionGroup.map(({ representation }) => representation),
    })),
    ...[...audio]
      .sort((a, b) => Number(b.default) - Number(a.default))
      .map((choice): MediaSet => ({
        kind: "audio",
        role: choice.default ? "main" : "alternate",
        label: choice.name,
        ...(choice.language !== undefined && { language: choice.language }),
        timeline,
        ...SEGMENTS,
        representations: [
          {
            id: choice.rendition,
            codecs: AUDIO_CODECS,
            bandwidth: audioRates(playable, choice).peak,
            channels: AUDIO_CHANNELS,
            sampleRate: AUDIO_RATE,
          },
        ],
      })),
    ...text.map(
      ({ language, label }) =>
        ({ kind: "text", id: `text-${language}`, language, label, uri: `../captions/${language}.vtt` }) as const,
    ),
  ];
  return writeMpd({
    duration: (audio.length > 0 ? audioEndSeconds(model) : playbackSeconds(model)) + END_MARGIN_SECONDS,
    minBuffer: MIN_BUFFER_SECONDS,
    sets,
  });
}

interface DashVideo {
  codec: VideoRendition["codec"];
  average: number;
  representation: Representation;
}

/**
 * Returns the ladder and the passthrough source: H.264 with its own segment boundaries, played with the encoded audio.
 */
function videosOf(playable: PlayableVideo): DashVideo[] {
  const { model, source } = playable;
  const ladder = model.ladder.map((rung): DashVideo => {
    const { peak, average } = videoRates(playable, rung);
    return {
      codec: rung.codec,
      average,
      representation: {
        id: rung.name,
        codecs: videoCodecs(rung, model),
        bandwidth: peak,
        width: rung.width,
        height: rung.height,
        frameRate: renditionRate(rung, model),
      },
    };
  });
  if (source === undefined) return ladder;
  const { codecs, width, height, segments, peakBandwidth: bandwidth, averageBandwidth: average } = source.video;
  const last = segments.at(-1)!;
  const boundaries = [...segments.map(({ start }) => start), last.start + last.duration];
  return [
    ...ladder,
    { codec: "h264", average, representation: { id: SOURCE_RENDITION, codecs, bandwidth, width, height, boundaries } },
  ];
}

/**
 * Audio ends with its last AAC frame, up to 21 ms after the last video frame, and the period is as long as its longest
 * track. In a shorter period, a player would pass the end before the media element reports it: dash.js 5.2 then seeks
 * back and stalls.
 */
const audioEndSeconds = ({ segments }: MediaModel): number =>
  (audioFrameCount(segments) * AUDIO_FRAME_SAMPLES) / AUDIO_RATE;

/**
 * Also used for audio: its segments start up to one AAC frame (21 ms) earlier, well within the tolerance of players
 * (DASH-IF IOP 3.2.7.1: half a segment).
 */
const timelineOf = ({ segments: { fps, framesPerSegment, frames } }: MediaModel): SegmentTimeline => ({
  timescale: fps.num,
  segmentDuration: framesPerSegment * fps.den,
  total: frames * fps.den,
});
