import { box, fileType, flat, fullBox, mediaHeader, u32, u64 } from "./write.ts";
import { editListBox, movieHeader, trackBox, type TrackHeader } from "./write-track.ts";

export interface FragmentSample {
  duration: number;
  size: number;
  shift: number;
  sync: boolean;
}

const SYNC_FLAGS = 0x0200_0000;
/** Flags of a sample that depends on other samples and is not a sync sample. */
const NON_SYNC_FLAGS = 0x0101_0000;
const DEFAULT_BASE_IS_MOOF = 0x02_0000;
const HAS_DEFAULT_FLAGS = 0x20;
const RUN_FLAGS = { dataOffset: 0x1, duration: 0x100, size: 0x200, flags: 0x400, shift: 0x800 };

/** Writes an initialization segment with one track (ISO 23000-19, 7.3.1). */
export function writeInit(track: TrackHeader): Buffer {
  const emptyTables = [
    fullBox("stts", 0, 0, u32(0)),
    fullBox("stsc", 0, 0, u32(0)),
    fullBox("stsz", 0, 0, u32(0, 0)),
    fullBox("stco", 0, 0, u32(0)),
  ];
  const trex = fullBox("trex", 0, 0, u32(track.id, 1, 0, 0, 0));
  const { delay = 0 } = track;
  // 8.6.6.1: an edit of duration 0 extends to all following fragments.
  const edits = delay > 0 ? { edits: editListBox([0, delay]) } : {};
  const moov = box(
    "moov",
    movieHeader(0, track.id + 1),
    trackBox(track, { duration: 0, mediaDuration: 0, ...edits, tables: emptyTables }),
    box("mvex", trex),
  );
  // ISO 23000-19, 7.7.3: cmf2 allows negative composition offsets but no edit list; cmfc is the reverse.
  return flat(fileType("iso6", 0, "iso6", delay > 0 ? "cmfc" : "cmf2", "mp41"), moov);
}

/**
 * Size in octets of the header that `writeFragment` returns. `mixed`: there are both sync and non-sync samples;
 * `shifted`: there are non-zero composition offsets.
 */
export function fragmentHeaderSize({
  count,
  mixed: hasMixedSync,
  shifted: hasShifts,
  bytes,
}: {
  count: number;
  mixed: boolean;
  shifted: boolean;
  bytes: number;
}): number {
  // Sizes of moof, mfhd, traf, tfhd, tfdt and trun.
  return (
    8 + 16 + 8 + 20 + 20 + 20 + 4 * count * (2 + Number(hasMixedSync) + Number(hasShifts)) + mediaHeader(bytes).length
  );
}

/**
 * Returns everything before the samples of a segment: the moof box and the header of mdat. `time`: decoding time of the
 * first sample; `sequence` starts at 1.
 */
export function writeFragment({
  track,
  sequence,
  time,
  samples,
}: {
  track: number;
  sequence: number;
  time: number;
  samples: readonly FragmentSample[];
}): Buffer {
  const hasMixedSync = samples.some(({ sync }) => sync !== samples[0]?.sync);
  const hasShifts = samples.some(({ shift }) => shift !== 0);
  const flags =
    RUN_FLAGS.dataOffset |
    RUN_FLAGS.duration |
    RUN_FLAGS.size |
    (hasMixedSync ? RUN_FLAGS.flags : 0) |
    (hasShifts ? RUN_FLAGS.shift : 0);
  const mfhd = fullBox("mfhd", 0, 0, u32(sequence));
  const tfhd = fullBox(
    "tfhd",
    0,
    DEFAULT_BASE_IS_MOOF | HAS_DEFAULT_FLAGS,
    u32(track, samples[0]?.sync === true ? SYNC_FLAGS : NON_SYNC_FLAGS),
  );
  const tfdt = fullBox("tfdt", 1, 0, u64(time));
  const entries: number[] = [];
  let size = 0;
  for (const sample of samples) {
    size += sample.size;
    entries.push(sample.duration, sample.size);
    if (hasMixedSync) entries.push(sample.sync ? SYNC_FLAGS : NON_SYNC_FLAGS);
    if (hasShifts) entries.push(sample.shift);
  }
  const header = mediaHeader(size);
  const createMoof = (dataOffset: number) =>
    box("moof", mfhd, box("traf", tfhd, tfdt, fullBox("trun", 1, flags, u32(samples.length, dataOffset, ...entries))));
  return Buffer.concat([...createMoof(createMoof(0).size + header.length).pieces, header]);
}
