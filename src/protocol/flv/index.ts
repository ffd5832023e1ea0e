export { type FlvAudio, audioFrameHeader, readAudio, writeAudioConfig } from "./audio.ts";
export { aacFormat, mp3Format, opusFormat } from "./audio-formats.ts";
export { flvHeader, type FlvTag, readTags, writeTag } from "./tags.ts";
export { type FlvVideo, videoFrameHeader, readVideo, writeVideoConfig } from "./video.ts";
export { FlvError } from "./violation.ts";
