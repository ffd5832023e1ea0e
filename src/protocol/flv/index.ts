export { type FlvAudio, type FlvAudioCodec, frameHead, readAudio, writeAudioConfig } from "./audio.ts";
export { type Sound, soundOfAac, soundOfMp3, soundOfOpus } from "./sound.ts";
export { flvHeader, type FlvTag, readTags, writeTag } from "./tags.ts";
export { type FlvVideo, type FlvVideoCodec, pictureHead, readVideo, writeVideoConfig } from "./video.ts";
export { FlvError } from "./violation.ts";
