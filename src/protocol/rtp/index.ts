export { createFraming, type RtpFrame } from "./frames.ts";
export { packH264, unpackH264 } from "./h264.ts";
export { OPUS_RATE, opusSamples, writeOpusHead } from "./opus.ts";
export { createOrdering, type Ordering, type RtpPart } from "./ordering.ts";
export { createUnwrapping } from "./sequence.ts";
export { packVp8, readVp8Key, unpackVp8 } from "./vp8.ts";
