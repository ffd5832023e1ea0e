export { type FlvAudio, frameHead, readAudio, writeAudioConfig } from "./audio.ts";
export { soundOfAac, soundOfMp3, soundOfOpus } from "./sound.ts";
export { flvHeader, type FlvTag, readTags, writeTag } from "./tags.ts";
export { type FlvVideo, pictureHead, readVideo, writeVideoConfig } from "./video.ts";
export { FlvError } from "./violation.ts";
