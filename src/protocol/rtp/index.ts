export { createFrameAssembler, type RtpFrame } from "./frames.ts";
export { packH264, unpackH264 } from "./h264.ts";
export { OPUS_RATE, opusSamples, writeOpusHead } from "./opus.ts";
export { createReorderBuffer, type ReorderBuffer, type RtpPacketFields } from "./ordering.ts";
export { createUnwrapper } from "./sequence.ts";
export { packVp8, readVp8KeyFrameSize, unpackVp8 } from "./vp8.ts";
