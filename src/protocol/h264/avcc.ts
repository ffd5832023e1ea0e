import { H264Error } from "./bits.ts";
import { readSps } from "./sps.ts";

/** A decoder configuration record (ISO 14496-15, 5.3.3.1). */
interface AvcConfig {
  sps: Buffer[];
  pps: Buffer[];
  /** Number of octets in the length field before each NAL unit. */
  lengthSize: number;
}

/** Profiles whose record declares the chroma format. */
const PROFILES_WITH_CHROMA = new Set([100, 110, 122, 144]);

/** Writes a record for packets with four-octet lengths. Throws H264Error if the first of `sps` is malformed. */
export function writeAvcConfig(sps: readonly Buffer[], pps: readonly Buffer[]): Buffer {
  const [first] = sps;
  if (first === undefined || pps.length === 0 || sps.length > 31 || pps.length > 255)
    throw new H264Error("there is no parameter set, or there are too many");
  const { profile } = readSps(first);
  const head = Buffer.from([1, first[1]!, first[2]!, first[3]!, 0xff, 0xe0 | sps.length]);
  // Declares 4:2:0 with 8 bits, the only format that browsers and cameras send live.
  const tail = PROFILES_WITH_CHROMA.has(profile) ? Buffer.from([0xfd, 0xf8, 0xf8, 0]) : Buffer.alloc(0);
  return Buffer.concat([head, ...sps.flatMap(withSize), Buffer.from([pps.length]), ...pps.flatMap(withSize), tail]);
}

function withSize(nal: Buffer): Buffer[] {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(nal.length);
  return [length, nal];
}

/** Reads a decoder configuration record. Throws H264Error if the record is truncated. */
export function readAvcConfig(record: Buffer): AvcConfig {
  if (record.length < 7 || record[0] !== 1) throw new H264Error("not a version 1 decoder configuration record");
  let at = 5;
  const takeNals = (count: number): Buffer[] => {
    const nals: Buffer[] = [];
    for (let i = 0; i < count; i++) {
      const end = at + 2 + (at + 2 <= record.length ? record.readUInt16BE(at) : Infinity);
      if (end > record.length) throw new H264Error("truncated decoder configuration record");
      nals.push(record.subarray(at + 2, end));
      at = end;
    }
    return nals;
  };
  const sps = takeNals(record[at++]! & 31);
  if (at >= record.length) throw new H264Error("truncated decoder configuration record");
  const pps = takeNals(record[at++]!);
  return { sps, pps, lengthSize: (record[4]! & 3) + 1 };
}
