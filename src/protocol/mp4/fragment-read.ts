import { boxAt, boxesIn, findBox, readFullBox, Mp4Error, requireBox, type Box } from "./boxes.ts";
import type { ReadAt } from "./locate.ts";

/** A fragment of a single-track segment: its samples, and the location of their contiguous data. */
export interface Fragment {
  /** Decoding time of the first sample. */
  time: number;
  count: number;
  durations: Uint32Array;
  sizes: Uint32Array;
  shifts: Int32Array;
  syncs: Uint8Array;
  /** Offset within the segment. */
  dataStart: number;
  dataSize: number;
}

const MAX_FRAGMENTS = 1000;
const MAX_SAMPLES = 1_000_000;
/** Larger than the headers in a segment of a few seconds, so that one read suffices. */
const FIRST_READ_BYTES = 32 * 1024;
const MAX_HEADER_BYTES = 16 * 1024 * 1024;

/** Reads the headers of a segment's fragments. Throws Mp4Error. */
export async function readFragments(read: ReadAt, size: number): Promise<Fragment[]> {
  const head = await read(0, Math.min(size, FIRST_READ_BYTES));
  const bytesAt = async (at: number, length: number) =>
    at + length <= head.length ? head.subarray(at, at + length) : read(at, length);
  const fragments: Fragment[] = [];
  let pending: { moof: Buffer; at: number } | undefined;
  for (let at = 0; at + 8 <= size;) {
    const box = boxAt(await bytesAt(at, Math.min(16, size - at)), 0, size - at);
    if (box.type === "moof") {
      if (box.end > MAX_HEADER_BYTES) throw new Mp4Error(`the moof box of a fragment is too large: ${box.end} octets`);
      pending = { moof: await bytesAt(at, box.end), at };
    }
    if (box.type === "mdat" && pending !== undefined) {
      if (fragments.length >= MAX_FRAGMENTS) throw new Mp4Error(`a segment has more than ${MAX_FRAGMENTS} fragments`);
      const fragment = readFragment(pending.moof, pending.at);
      if (fragment.dataStart < at + box.body || fragment.dataStart + fragment.dataSize > at + box.end)
        throw new Mp4Error("the samples of a fragment lie outside of its data");
      fragments.push(fragment);
      pending = undefined;
    }
    at += box.end;
  }
  return fragments;
}

function readFragment(bytes: Buffer, start: number): Fragment {
  const [moof] = boxesIn(bytes, 0, bytes.length);
  const trafs = boxesIn(bytes, moof!.body, moof!.end).filter(({ type }) => type === "traf");
  if (trafs.length !== 1) throw new Mp4Error(`a fragment has ${trafs.length} tracks; expected one`);
  const [traf] = trafs as [Box];
  const defaults = readDefaults(bytes, requireBox(bytes, traf, "tfhd"));
  const runs = boxesIn(bytes, traf.body, traf.end).filter(({ type }) => type === "trun");
  const [run] = runs;
  if (run === undefined || runs.length > 1)
    throw new Mp4Error(`a fragment has ${runs.length} track runs; expected one`);
  return { time: readTime(bytes, traf), ...readRun(bytes, run, defaults, start) };
}

interface Defaults {
  duration: number;
  size: number;
  flags: number;
}

/**
 * Reads the defaults of a track fragment (ISO 14496-12, 8.8.7). Ignores trex: segments written by Reelpost contain
 * these defaults.
 */
function readDefaults(bytes: Buffer, tfhd: Box): Defaults {
  const { flags, at } = readFullBox(bytes, tfhd, 4);
  if ((flags & 1) !== 0)
    throw new Mp4Error("a fragment uses absolute data offsets (base-data-offset), which are not supported");
  let place = at + 4 + ((flags & 2) !== 0 ? 4 : 0);
  const nextField = (flag: number) => {
    if ((flags & flag) === 0) return 0;
    if (place + 4 > tfhd.end) throw new Mp4Error("box tfhd is too short");
    return bytes.readUInt32BE((place += 4) - 4);
  };
  return { duration: nextField(8), size: nextField(16), flags: nextField(32) };
}

function readTime(bytes: Buffer, traf: Box): number {
  const tfdt = findBox(bytes, traf, "tfdt");
  if (tfdt === undefined) throw new Mp4Error("a fragment has no decoding time (tfdt)");
  const { version, at } = readFullBox(bytes, tfdt, bytes[tfdt.body] === 1 ? 8 : 4);
  return version === 1 ? Number(bytes.readBigUInt64BE(at)) : bytes.readUInt32BE(at);
}

/** Reads a track run (ISO 14496-12, 8.8.8). */
function readRun(bytes: Buffer, trun: Box, defaults: Defaults, start: number): Omit<Fragment, "time"> {
  const { flags, at } = readFullBox(bytes, trun, 4);
  const count = bytes.readUInt32BE(at);
  const width = 4 * [0x100, 0x200, 0x400, 0x800].filter((flag) => (flags & flag) !== 0).length;
  let place = at + 4 + ((flags & 1) !== 0 ? 4 : 0) + ((flags & 4) !== 0 ? 4 : 0);
  if (count > MAX_SAMPLES || place + count * width > trun.end)
    throw new Mp4Error(`a track run declares ${count} samples but has no room for them`);
  if ((flags & 1) === 0) throw new Mp4Error("a track run has no data offset");
  const firstFlags = (flags & 4) !== 0 ? bytes.readUInt32BE(at + 8) : undefined;
  const nextField = (flag: number, fallback: number) =>
    (flags & flag) === 0 ? fallback : bytes.readUInt32BE((place += 4) - 4);
  const durations = new Uint32Array(count);
  const sizes = new Uint32Array(count);
  const shifts = new Int32Array(count);
  const syncFlags = new Uint8Array(count);
  let dataSize = 0;
  for (let i = 0; i < count; i++) {
    durations[i] = nextField(0x100, defaults.duration);
    sizes[i] = nextField(0x200, defaults.size);
    const sampleFlags = nextField(0x400, i === 0 && firstFlags !== undefined ? firstFlags : defaults.flags);
    // Bit 16 is sample_is_non_sync_sample.
    syncFlags[i] = (sampleFlags & 0x1_0000) === 0 ? 1 : 0;
    shifts[i] = nextField(0x800, 0);
    dataSize += sizes[i]!;
  }
  return { count, durations, sizes, shifts, syncs: syncFlags, dataStart: start + bytes.readInt32BE(at + 4), dataSize };
}
