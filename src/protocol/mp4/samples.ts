import { Mp4Error } from "./boxes.ts";
import type { SampleTables } from "./sample-tables.ts";

/**
 * Iterates over the samples of a track in decoding order; the fields describe the current sample. Times are in track
 * ticks.
 */
export interface SampleWalk {
  /** Starts at 0. */
  index: number;
  /** Decoding time. */
  time: number;
  duration: number;
  /** The presentation time is `time + shift`. */
  shift: number;
  /** Size in octets. */
  offset: number;
  /** Maximum size in bytes. */
  size: number;
  sync: boolean;
  /** Advances to the next sample. Returns false if there is none, in which case the fields are invalid. */
  next(): boolean;
  /** Returns the current position, from which iteration can resume. */
  mark(): SampleMark;
}

export interface SampleMark {
  index: number;
  time: number;
  offset: number;
  chunk: number;
  chunkLeft: number;
  chunkRun: number;
  durationRun: number;
  durationLeft: number;
  shiftRun: number;
  shiftLeft: number;
  syncAt: number;
}

/**
 * Starts an iteration; undefined for a track without samples. Throws Mp4Error if the tables are inconsistent, also
 * during iteration.
 */
export function walkSamples(tables: SampleTables, from: SampleMark = START): SampleWalk | undefined {
  const { count, sizes, durations, shifts, chunks, chunkRuns, syncs } = tables;
  if (count === 0) return undefined;
  let { chunk, chunkLeft, chunkRun, durationRun, durationLeft, shiftRun, shiftLeft, syncAt } = from;

  const walk: SampleWalk = {
    index: from.index,
    time: from.time,
    offset: from.offset,
    duration: 0,
    shift: 0,
    size: 0,
    sync: false,
    next() {
      if (walk.index + 1 >= count) return false;
      chunkLeft--;
      durationLeft--;
      shiftLeft--;
      if (walk.sync) syncAt++;
      walk.time += walk.duration;
      walk.offset += walk.size;
      walk.index++;
      settle();
      return true;
    },
    mark: () => ({
      index: walk.index,
      time: walk.time,
      offset: walk.offset,
      chunk,
      chunkLeft,
      chunkRun,
      durationRun,
      durationLeft,
      shiftRun,
      shiftLeft,
      syncAt,
    }),
  };

  function settle() {
    while (durationLeft === 0) {
      if (++durationRun * 2 >= durations.length) throw new Mp4Error("samples have no duration (stts)");
      durationLeft = durations[durationRun * 2]!;
    }
    walk.duration = durations[durationRun * 2 + 1]!;
    if (shifts !== undefined) {
      while (shiftLeft <= 0) {
        if (++shiftRun * 2 >= shifts.length) throw new Mp4Error("samples have no place in time (ctts)");
        // The sample count is an unsigned 32-bit number.
        shiftLeft = shifts[shiftRun * 2]! >>> 0;
      }
      walk.shift = shifts[shiftRun * 2 + 1]!;
    }
    while (chunkLeft === 0) nextChunk();
    walk.size = typeof sizes === "number" ? sizes : sizes[walk.index]!;
    walk.sync = syncs === undefined || syncs[syncAt] === walk.index + 1;
  }

  function nextChunk() {
    chunk++;
    if (chunk >= chunks.length) throw new Mp4Error("samples lie in no chunk (stco)");
    // `stsc` describes runs of chunks: entry k applies from its first chunk to the one before entry k + 1.
    while ((chunkRun + 1) * 3 < chunkRuns.length && chunkRuns[(chunkRun + 1) * 3]! <= chunk + 1) chunkRun++;
    if (chunkRun < 0) throw new Mp4Error("the first chunk has no number of samples (stsc)");
    chunkLeft = chunkRuns[chunkRun * 3 + 1]!;
    walk.offset = chunks[chunk]!;
  }

  settle();
  return walk;
}

const START: SampleMark = {
  index: 0,
  time: 0,
  offset: 0,
  chunk: -1,
  chunkLeft: 0,
  chunkRun: -1,
  durationRun: -1,
  durationLeft: 0,
  shiftRun: -1,
  shiftLeft: 0,
  syncAt: 0,
};
