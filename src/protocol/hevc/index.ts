export { HEVC_NAL, hevcNalType, isHevcKey } from "./nal.ts";
export { readHevcConfig, writeHevcConfig } from "./hvcc.ts";
export { readHevcSps, type HevcSps } from "./sps.ts";
