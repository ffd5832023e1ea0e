import { hash } from "node:crypto";

/** Who watches which input, in this process. */
export interface Present {
  /** Asked for something just now. */
  seen(input: string, viewer: string): void;
  /** Is there until the returned function is called. */
  stays(input: string, viewer: string): () => void;
  /** Their numbers, below 2^48: the same viewer has the same in every process. */
  of(input: string): Iterable<number>;
  count(input: string): number;
  inputs(): string[];
  /** Forgets who has not been seen since. */
  forget(before: number): void;
}

interface Audience {
  /** When each was last seen; the one that was not for the longest first. */
  seen: Map<number, number>;
  /** How often each is there to stay. */
  stay: Map<number, number>;
}

/** `most` viewers of all inputs together: of who is more, the oldest of that input is forgotten. */
export function createPresent({ now, most = 200_000 }: { now(): number; most?: number }): Present {
  const audiences = new Map<string, Audience>();
  let count = 0;

  function audienceOf(input: string): Audience {
    return audiences.getOrInsertComputed(input, () => ({ seen: new Map(), stay: new Map() }));
  }

  return {
    seen(input, viewer) {
      const { seen } = audienceOf(input);
      const number = numberOf(viewer);
      if (seen.delete(number)) count--;
      else if (count >= most && seen.delete(seen.keys().next().value!)) count--;
      if (count >= most) return;
      seen.set(number, now());
      count++;
    },
    stays(input, viewer) {
      const { stay } = audienceOf(input);
      const number = numberOf(viewer);
      stay.set(number, (stay.get(number) ?? 0) + 1);
      let left = false;
      return () => {
        if (left) return;
        left = true;
        const times = stay.get(number)! - 1;
        if (times === 0) stay.delete(number);
        else stay.set(number, times);
      };
    },
    of(input) {
      const { seen, stay } = audiences.get(input) ?? {
        seen: new Map<number, number>(),
        stay: new Map<number, number>(),
      };
      return new Set([...seen.keys(), ...stay.keys()]);
    },
    count(input) {
      const audience = audiences.get(input);
      if (audience === undefined) return 0;
      const { seen, stay } = audience;
      return seen.size + [...stay.keys()].filter((number) => !seen.has(number)).length;
    },
    inputs: () => [...audiences.keys()],
    forget(before) {
      for (const [input, { seen, stay }] of audiences) {
        for (const [number, at] of seen) {
          if (at >= before) break;
          seen.delete(number);
          count--;
        }
        if (seen.size === 0 && stay.size === 0) audiences.delete(input);
      }
    },
  };
}

const numberOf = (viewer: string): number => Number.parseInt(hash("sha1", viewer, "hex").slice(0, 12), 16);
