import { Mp4Error } from "./boxes.ts";
import type { SampleTables } from "./sample-tables.ts";

/**
 * Iterates over the samples of a track in decoding order; the fields describe the current sample. Times are in track
 * ticks.
 */
export interface SampleIterator {
  /** Starts at 0. */
  index: number;
  /** Decoding time. */
  time: number;
  duration: number;
  /** The presentation time is `time + shift`. */
  shift: number;
  /** Offset in the file. */
  offset: number;
  /** Size of the sample in bytes. */
  size: number;
  sync: boolean;
  /** Advances to the next sample. Returns false if there is none, in which case the fields are invalid. */
  next(): boolean;
  /** Returns the current position, from which iteration can resume. */
  position(): SamplePosition;
}

export interface SamplePosition {
  index: number;
  time: number;
  offset: number;
  chunk: number;
  chunkRemaining: number;
  chunkRun: number;
  durationRun: number;
  durationRemaining: number;
  shiftRun: number;
  compositionRemaining: number;
  syncAt: number;
}

/**
 * Starts an iteration; undefined for a track without samples. Throws Mp4Error if the tables are inconsistent, either
 * here or during iteration.
 */
export function iterateSamples(tables: SampleTables, from: SamplePosition = START): SampleIterator | undefined {
  const { count, sizes, durations, shifts, chunks, chunkRuns, syncs } = tables;
  if (count === 0) return undefined;
  let { chunk, chunkRemaining, chunkRun, durationRun, durationRemaining, shiftRun, compositionRemaining, syncAt } =
    from;

  const cursor: SampleIterator = {
    index: from.index,
    time: from.time,
    offset: from.offset,
    duration: 0,
    shift: 0,
    size: 0,
    sync: false,
    next() {
      if (cursor.index + 1 >= count) return false;
      chunkRemaining--;
      durationRemaining--;
      compositionRemaining--;
      if (cursor.sync) syncAt++;
      cursor.time += cursor.duration;
      cursor.offset += cursor.size;
      cursor.index++;
      loadSample();
      return true;
    },
    position: () => ({
      index: cursor.index,
      time: cursor.time,
      offset: cursor.offset,
      chunk,
      chunkRemaining,
      chunkRun,
      durationRun,
      durationRemaining,
      shiftRun,
      compositionRemaining,
      syncAt,
    }),
  };

  function loadSample() {
    while (durationRemaining === 0) {
      if (++durationRun * 2 >= durations.length) throw new Mp4Error("samples have no duration (stts)");
      durationRemaining = durations[durationRun * 2]!;
    }
    cursor.duration = durations[durationRun * 2 + 1]!;
    if (shifts !== undefined) {
      while (compositionRemaining <= 0) {
        if (++shiftRun * 2 >= shifts.length) throw new Mp4Error("samples have no composition offset (ctts)");
        // The sample count is an unsigned 32-bit number.
        compositionRemaining = shifts[shiftRun * 2]! >>> 0;
      }
      cursor.shift = shifts[shiftRun * 2 + 1]!;
    }
    while (chunkRemaining === 0) nextChunk();
    cursor.size = typeof sizes === "number" ? sizes : sizes[cursor.index]!;
    cursor.sync = syncs === undefined || syncs[syncAt] === cursor.index + 1;
  }

  function nextChunk() {
    chunk++;
    if (chunk >= chunks.length) throw new Mp4Error("samples are not assigned to a chunk (stco)");
    // `stsc` describes runs of chunks: entry k applies from its first chunk to the one before entry k + 1.
    while ((chunkRun + 1) * 3 < chunkRuns.length && chunkRuns[(chunkRun + 1) * 3]! <= chunk + 1) chunkRun++;
    if (chunkRun < 0) throw new Mp4Error("the number of samples in the first chunk is missing (stsc)");
    chunkRemaining = chunkRuns[chunkRun * 3 + 1]!;
    cursor.offset = chunks[chunk]!;
  }

  loadSample();
  return cursor;
}

const START: SamplePosition = {
  index: 0,
  time: 0,
  offset: 0,
  chunk: -1,
  chunkRemaining: 0,
  chunkRun: -1,
  durationRun: -1,
  durationRemaining: 0,
  shiftRun: -1,
  compositionRemaining: 0,
  syncAt: 0,
};
