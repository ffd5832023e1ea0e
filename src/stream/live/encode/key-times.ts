/**
 * Selects the frames of a rendition that begin segments: those whose source is a key frame, excluding other key frames
 * of the encoder.
 */
interface KeyTimes {
  /** A key frame of the source, in ticks. */
  source(time: number): void;
  /**
   * For the frames of one rendition in order: true if the frame begins a segment. Throws if an expected one is not a
   * key frame.
   */
  reader(): (time: number, key: boolean) => boolean;
}

/** Combined rounding error of both sides in ticks. */
const NEAR = 2;
/** Maximum number of pending key frames: an encoder this far behind is dropped anyway. */
const MAX_PENDING = 1000;

export function createKeyTimes(): KeyTimes {
  const readers = new Set<number[]>();
  const known: number[] = [];
  return {
    source(time) {
      known.push(time);
      if (known.length > MAX_PENDING) known.shift();
      for (const waiting of readers) if (waiting.push(time) > MAX_PENDING) waiting.shift();
    },
    reader() {
      const waiting = [...known];
      readers.add(waiting);
      return (time, key) => {
        const [next] = waiting;
        if (next === undefined || time < next - NEAR) return false;
        if (!key || time > next + NEAR) throw new Error(`the encoder wrote no key frame at ${next}`);
        waiting.shift();
        return true;
      };
    },
  };
}
