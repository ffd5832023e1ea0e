export { readAvcConfig, writeAvcConfig } from "./avcc.ts";
export { H264Error } from "./bits.ts";
export { joinLengthPrefixed, NAL, nalType, splitAnnexB, splitLengthPrefixed } from "./nal.ts";
export { readSps } from "./sps.ts";
