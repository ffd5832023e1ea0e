export { adtsHeader, createAdtsReader, type AdtsFrame } from "./adts.ts";
export { createTsDemuxer, TS_PACKET, type TsDemuxer, type TsHandlers, type TsUnit } from "./demux.ts";
export { createMpegAudioReader, type MpegAudioFrame } from "./mpeg-audio.ts";
export { createTsMuxer, type TsMuxer } from "./mux.ts";
export { opusHead, opusHeader, opusSamples, readOpus, type OpusPacket } from "./opus.ts";
export { type TsCodec, type TsStream } from "./tables.ts";
