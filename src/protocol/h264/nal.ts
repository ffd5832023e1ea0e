/** NAL unit types used here (ITU-T H.264, table 7-1). */
export const NAL = {
  slice: 1,
  idr: 5,
  sei: 6,
  sps: 7,
  pps: 8,
  delimiter: 9,
  endOfSequence: 10,
  endOfStream: 11,
  filler: 12,
} as const;

export const nalType = (nal: Buffer): number => nal[0]! & 31;

/**
 * Splits NAL units that are each preceded by a length of `lengthSize` octets (ISO 14496-15, 5.3.4.2.1). Stops at a
 * truncated NAL unit.
 */
export function splitLengthPrefixed(data: Buffer, lengthSize = 4): Buffer[] {
  const nals: Buffer[] = [];
  for (let at = 0; at + lengthSize < data.length;) {
    const length = data.readUIntBE(at, lengthSize);
    at += lengthSize;
    if (at + length > data.length) break;
    if (length > 0) nals.push(data.subarray(at, at + length));
    at += length;
  }
  return nals;
}

/** Prepends a four-octet length to each NAL unit. */
export function joinLengthPrefixed(nals: readonly Buffer[]): Buffer {
  const joinedNals = Buffer.allocUnsafe(nals.reduce((sum, nal) => sum + 4 + nal.length, 0));
  let at = 0;
  for (const nal of nals) {
    at = joinedNals.writeUInt32BE(nal.length, at);
    at += nal.copy(joinedNals, at);
  }
  return joinedNals;
}

const START_CODE = Buffer.from([0, 0, 1]);

/** Splits a byte stream (annex B) into NAL units, without start codes and trailing zeros. */
export function splitAnnexB(bytes: Buffer): Buffer[] {
  const nals: Buffer[] = [];
  for (let at = bytes.indexOf(START_CODE); at !== -1;) {
    const next = bytes.indexOf(START_CODE, at + 3);
    let end = next === -1 ? bytes.length : next;
    while (end > at + 3 && bytes[end - 1] === 0) end--;
    if (end > at + 3) nals.push(bytes.subarray(at + 3, end));
    at = next;
  }
  return nals;
}
