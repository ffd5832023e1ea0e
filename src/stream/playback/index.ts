export { createHotSegments, type HotSegments } from "./hot-segments.ts";
export { createPlayback } from "./playback.ts";
export {
  type AudioTracks,
  type ExtraAudio,
  type PlaybackOverride,
  type SegmentBytes,
  SOURCE_AUDIO,
  type SourceRenditions,
  type SourceRung,
  type SourceTrack,
  type TextTrack,
  type TextTracks,
} from "./port.ts";
export { createRenditionRates } from "./rates.ts";
export { nearestToHint } from "./tracks.ts";
