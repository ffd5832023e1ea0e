/** NAL unit types used here (ITU-T H.265, table 7-1). */
export const HEVC_NAL = {
  vps: 32,
  sps: 33,
  pps: 34,
  delimiter: 35,
  endOfSequence: 36,
  endOfStream: 37,
  filler: 38,
} as const;

export const hevcNalType = (nal: Buffer): number => (nal[0]! >> 1) & 63;

/** Returns true for a random access point: BLA, IDR or CRA. */
export const isHevcKey = (type: number): boolean => type >= 16 && type <= 21;
