export { readAvcConfig, writeAvcConfig, type AvcConfig } from "./avcc.ts";
export { H264Error } from "./bits.ts";
export { joinLengths, NAL, nalType, splitAnnexB, splitLengths } from "./nal.ts";
export { readSps, type Sps } from "./sps.ts";
