import { Mp4Error } from "./boxes.ts";
import type { Fragment } from "./fragment-read.ts";

/** Collects the samples of a track in the same form as in an index: a day of samples occupies a few dozen megabytes. */
export interface SampleLog {
  readonly count: number;
  /** Time of the first sample. */
  readonly start: number;
  /** Decoding time of the next sample. */
  readonly end: number;
  /** Returns the presentation time range: from the start of the first frame to the end of the last. */
  presentationRange(): { from: number; to: number };
  /** Smallest composition offset; 0 without offsets. */
  readonly minCompositionOffset: number;
  readonly shifted: boolean;
  /** True if all samples are sync samples. */
  readonly allSync: boolean;
  sizes(): Uint32Array;
  /** Pairs in the same form as in stts. */
  durations(): Uint32Array;
  /** Pairs in the same form as in ctts. */
  shifts(): Int32Array;
  syncs(): Uint32Array;
  /** Throws Mp4Error if the fragment begins before the end of the samples added so far. */
  add(fragment: Fragment): void;
}

const MAX_SAMPLES = 12_000_000;

export function createSampleLog(): SampleLog {
  const sizes = createNumbers();
  const durations = createRuns();
  const shifts = createRuns();
  const syncs = createNumbers();
  let start = 0;
  let end = 0;
  let from = Infinity;
  let to = 0;
  let minShift = Infinity;
  let hasShifts = false;

  const log: SampleLog = {
    get count() {
      return sizes.length();
    },
    get start() {
      return start;
    },
    get end() {
      return end;
    },
    get minCompositionOffset() {
      return hasShifts ? minShift : 0;
    },
    get shifted() {
      return hasShifts;
    },
    get allSync() {
      return syncs.length() === sizes.length();
    },
    presentationRange: () => ({ from: log.count === 0 ? 0 : from, to }),
    sizes: sizes.all,
    durations: durations.all,
    shifts: () => new Int32Array(shifts.all().buffer),
    syncs: syncs.all,
    add(fragment) {
      if (sizes.length() + fragment.count > MAX_SAMPLES)
        throw new Mp4Error(`there are more than ${MAX_SAMPLES} samples`);
      if (fragment.count === 0) return;
      if (log.count === 0) start = end = fragment.time;
      // The fragment's time is authoritative: the last sample is extended to fill a gap.
      if (fragment.time > end) durations.stretchLast(fragment.time - end);
      if (fragment.time < end)
        throw new Mp4Error(`a fragment begins at ${fragment.time}, before the end of the one before it, ${end}`);
      let time = fragment.time;
      for (let i = 0; i < fragment.count; i++) {
        const shift = fragment.shifts[i]!;
        const duration = fragment.durations[i]!;
        sizes.push(fragment.sizes[i]!);
        durations.push(duration);
        shifts.push(shift);
        if (fragment.syncs[i] === 1) syncs.push(sizes.length());
        if (shift !== 0) hasShifts = true;
        minShift = Math.min(minShift, shift);
        from = Math.min(from, time + shift);
        to = Math.max(to, time + shift + duration);
        time += duration;
      }
      end = time;
    },
  };
  return log;
}

/** Creates a list of 32-bit numbers that grows by half its size. */
function createNumbers() {
  let numbers = new Uint32Array(1024);
  let length = 0;
  return {
    length: () => length,
    push(number: number) {
      if (length === numbers.length) {
        const more = new Uint32Array(Math.ceil(length * 1.5));
        more.set(numbers);
        numbers = more;
      }
      numbers[length++] = number;
    },
    get: (index: number) => numbers[index]!,
    set: (index: number, number: number) => void (numbers[index] = number),
    /** Returns a copy. */
    all: () => numbers.slice(0, length),
  };
}

/** Pairs of a count and a value. */
function createRuns() {
  const pairs = createNumbers();
  const push = (value: number, count = 1) => {
    const last = pairs.length() - 2;
    if (last >= 0 && pairs.get(last + 1) === value >>> 0) return pairs.set(last, pairs.get(last) + count);
    pairs.push(count);
    pairs.push(value);
  };
  return {
    push: (value: number) => push(value),
    all: pairs.all,
    stretchLast(delta: number) {
      const last = pairs.length() - 2;
      const value = pairs.get(last + 1);
      if (pairs.get(last) === 1) return pairs.set(last + 1, value + delta);
      pairs.set(last, pairs.get(last) - 1);
      pairs.push(1);
      pairs.push(value + delta);
    },
  };
}
