export { adtsHeader, createTimedAdtsReader, type AdtsFrame } from "./adts.ts";
export { createTsDemuxer, type TsUnit } from "./demux.ts";
export { createMpegAudioReader } from "./mpeg-audio.ts";
export { createTsMuxer } from "./mux.ts";
export { opusHead, opusHeader, readOpus } from "./opus.ts";
export { type TsCodec, type TsStream } from "./tables.ts";
