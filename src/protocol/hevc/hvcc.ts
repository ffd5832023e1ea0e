import { H264Error } from "../h264/bits.ts";
import { HEVC_NAL } from "./nal.ts";
import { readHevcSps } from "./sps.ts";

const FIXED_BYTES = 23;

/**
 * Writes a decoder configuration record (ISO 14496-15, 8.3.3.1) for four-octet lengths. Throws H264Error if the first
 * of `sps` is malformed.
 */
export function writeHevcConfig(vps: readonly Buffer[], sps: readonly Buffer[], pps: readonly Buffer[]): Buffer {
  const [first] = sps;
  if (first === undefined || vps.length === 0 || pps.length === 0) throw new H264Error("there is no parameter set");
  const { profileTierLevel, temporalLayers, temporalIdNested, chroma, lumaBits, chromaBits } = readHevcSps(first);
  const head = Buffer.alloc(FIXED_BYTES);
  head[0] = 1;
  profileTierLevel.copy(head, 1);
  head.set(
    [
      0xf0,
      0,
      0xfc,
      0xfc | chroma,
      0xf8 | (lumaBits - 8),
      0xf8 | (chromaBits - 8),
      0,
      0,
      (temporalLayers << 3) | (temporalIdNested ? 4 : 0) | 3,
      3,
    ],
    13,
  );
  const arrays = (
    [
      [HEVC_NAL.vps, vps],
      [HEVC_NAL.sps, sps],
      [HEVC_NAL.pps, pps],
    ] as const
  ).flatMap(([type, nals]) => {
    const count = Buffer.from([0x80 | type, nals.length >> 8, nals.length & 255]);
    return [count, ...nals.flatMap((nal) => [Buffer.from([nal.length >> 8, nal.length & 255]), nal])];
  });
  return Buffer.concat([head, ...arrays]);
}

/** Returns the parameter sets in a record, in order. Throws H264Error if the record is truncated. */
export function readHevcConfig(record: Buffer): Buffer[] {
  const sets: Buffer[] = [];
  const requireEnd = (end: number) => {
    if (end > record.length) throw new H264Error("truncated decoder configuration record");
  };
  requireEnd(FIXED_BYTES);
  let at = FIXED_BYTES;
  for (let array = 0; array < record[22]!; array++) {
    requireEnd(at + 3);
    const count = record.readUInt16BE(at + 1);
    at += 3;
    for (let i = 0; i < count; i++) {
      requireEnd(at + 2);
      const size = record.readUInt16BE(at);
      requireEnd(at + 2 + size);
      sets.push(record.subarray(at + 2, at + 2 + size));
      at += 2 + size;
    }
  }
  return sets;
}
