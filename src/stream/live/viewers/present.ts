import { hash } from "node:crypto";

/** Viewers of each input, in this process. */
interface ViewerPresence {
  /** Call it when the viewer has sent a request. */
  markSeen(input: string, viewer: string): void;
  /** Counts the viewer as present until the returned function is called. */
  join(input: string, viewer: string): () => void;
  /** Returns the numbers of the viewers, below 2^48. A viewer has the same number in every process. */
  of(input: string): Iterable<number>;
  count(input: string): number;
  inputs(): string[];
  /** Removes viewers last seen before that time. */
  forget(before: number): void;
}

interface Audience {
  /** Time each viewer was last seen; least recently seen first. */
  seen: Map<number, number>;
  /** Number of open connections per viewer. */
  connections: Map<number, number>;
}

/** `most`: maximum number of viewers across all inputs; beyond it, the oldest viewer of the same input is evicted. */
export function createViewerPresence({ now, most = 200_000 }: { now(): number; most?: number }): ViewerPresence {
  const audiences = new Map<string, Audience>();
  let count = 0;

  function audienceOf(input: string): Audience {
    return audiences.getOrInsertComputed(input, () => ({ seen: new Map(), connections: new Map() }));
  }

  return {
    markSeen(input, viewer) {
      const { seen } = audienceOf(input);
      const number = numberOf(viewer);
      if (seen.delete(number)) count--;
      else if (count >= most && seen.delete(seen.keys().next().value!)) count--;
      if (count >= most) return;
      seen.set(number, now());
      count++;
    },
    join(input, viewer) {
      const { connections } = audienceOf(input);
      const number = numberOf(viewer);
      connections.set(number, (connections.get(number) ?? 0) + 1);
      let hasLeft = false;
      return () => {
        if (hasLeft) return;
        hasLeft = true;
        const remainingCount = connections.get(number)! - 1;
        if (remainingCount === 0) connections.delete(number);
        else connections.set(number, remainingCount);
      };
    },
    of(input) {
      const { seen, connections } = audiences.get(input) ?? {
        seen: new Map<number, number>(),
        connections: new Map<number, number>(),
      };
      return new Set([...seen.keys(), ...connections.keys()]);
    },
    count(input) {
      const audience = audiences.get(input);
      if (audience === undefined) return 0;
      const { seen, connections } = audience;
      return seen.size + [...connections.keys()].filter((number) => !seen.has(number)).length;
    },
    inputs: () => [...audiences.keys()],
    forget(before) {
      for (const [input, { seen, connections }] of audiences) {
        for (const [number, lastSeenAt] of seen) {
          if (lastSeenAt >= before) break;
          seen.delete(number);
          count--;
        }
        if (seen.size === 0 && connections.size === 0) audiences.delete(input);
      }
    },
  };
}

const numberOf = (viewer: string): number => Number.parseInt(hash("sha1", viewer, "hex").slice(0, 12), 16);
