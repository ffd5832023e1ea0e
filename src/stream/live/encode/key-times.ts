/**
 * Selects the frames of a rendition that begin segments: those whose source is a key frame, excluding other key frames
 * of the encoder.
 */
interface KeyTimes {
  /** Adds the time of a key frame of the source, in ticks. */
  source(time: number): void;
  /**
   * Returns a function to call with the frames of one rendition in order: it returns true if the frame begins a
   * segment, and throws if an expected key frame is not one.
   */
  reader(): (time: number, key: boolean) => boolean;
}

/** Combined rounding error of both sides in ticks. */
const MATCH_TOLERANCE = 2;
/** Maximum number of pending key frames: an encoder this far behind is dropped anyway. */
const MAX_PENDING = 1000;

export function createKeyTimes(): KeyTimes {
  const readers = new Set<number[]>();
  const keyTimes: number[] = [];
  return {
    source(time) {
      keyTimes.push(time);
      if (keyTimes.length > MAX_PENDING) keyTimes.shift();
      for (const pendingTimes of readers) if (pendingTimes.push(time) > MAX_PENDING) pendingTimes.shift();
    },
    reader() {
      const pendingTimes = [...keyTimes];
      readers.add(pendingTimes);
      return (time, key) => {
        const [next] = pendingTimes;
        if (next === undefined || time < next - MATCH_TOLERANCE) return false;
        if (!key || time > next + MATCH_TOLERANCE) throw new Error(`the encoder wrote no key frame at ${next}`);
        pendingTimes.shift();
        return true;
      };
    },
  };
}
