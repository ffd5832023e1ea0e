/** Which pictures of a rendition begin segments: those whose source is a key frame, and no others that the encoder made key frames of. */
export interface KeyTimes {
  /** A key frame of the source, in ticks. */
  source(time: number): void;
  /** Of the pictures of one rendition, in their order: whether it is one of those. Throws where one came and was none. */
  reader(): (time: number, key: boolean) => boolean;
}

/** Ticks that rounding on both sides may make. */
const NEAR = 2;
/** An encoder that is so many key frames late is not waited for anyway. */
const MOST = 1000;

export function createKeyTimes(): KeyTimes {
  const readers = new Set<number[]>();
  const known: number[] = [];
  return {
    source(time) {
      known.push(time);
      if (known.length > MOST) known.shift();
      for (const waiting of readers) if (waiting.push(time) > MOST) waiting.shift();
    },
    reader() {
      const waiting = [...known];
      readers.add(waiting);
      return (time, key) => {
        const [next] = waiting;
        if (next === undefined || time < next - NEAR) return false;
        if (!key || time > next + NEAR) throw new Error(`the picture at ${next} is no key frame of the encoder`);
        waiting.shift();
        return true;
      };
    },
  };
}
