export { AUDIO_BITRATE, AUDIO_CHANNELS, AUDIO_FRAME_SAMPLES, AUDIO_RATE, audioFrameCount } from "./audio-grid.ts";
export { segmentFrameCount } from "./audio-fragments.ts";
export { AUDIO_CODECS, lowestLevel, renditionRate, timescaleOf, videoCodecs } from "./codecs.ts";
export { type AudioSource, type AudioSources, type GrowingSegment, segmentKey, type Segments } from "./port.ts";
export { VideoDeleted } from "./segment-store.ts";
export { createSegments, type SegmentsModule } from "./segments.ts";
export { toneMapToSdr } from "./video-graph.ts";
export { watermarkBox } from "./watermark-box.ts";
