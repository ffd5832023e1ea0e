export { readAvcConfig, writeAvcConfig } from "./avcc.ts";
export { H264Error } from "./bits.ts";
export { joinLengths, NAL, nalType, splitAnnexB, splitLengths } from "./nal.ts";
export { readSps } from "./sps.ts";
