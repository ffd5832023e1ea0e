export { HEVC_NAL, hevcNalType, isHevcKey } from "./nal.ts";
export { readHevcConfig, writeHevcConfig } from "./hvcc.ts";
export { readHevcSps } from "./sps.ts";
