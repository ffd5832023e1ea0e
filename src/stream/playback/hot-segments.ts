import type { ObjectHandle } from "../../store/index.ts";

/** A segment in memory. */
export type HotSegment = Pick<ObjectHandle, "size" | "version" | "read"> & { memory: Buffer };

/** Segments that several viewers ask for one after the other, in memory: what is sent from there costs half of what is read first. */
export interface HotSegments {
  get(key: string): HotSegment | undefined;
  /** To be told of every segment that is sent from elsewhere. Undefined: not worth keeping, as most are that one viewer watches alone. */
  offer(key: string, object: ObjectHandle): Promise<HotSegment | undefined>;
}

/** Names of segments that were asked for once, in each of two generations. */
const REMEMBERED = 8192;

/** `bytes`: how many are kept at most; 0: none. Segments never change under their address, so nothing is ever stale. */
export function createHotSegments({ bytes }: { bytes: number }): HotSegments {
  const kept = new Map<string, HotSegment>();
  const loading = new Map<string, Promise<HotSegment>>();
  let size = 0;
  let asked = new Set<string>();
  let askedBefore = new Set<string>();

  function askedAgain(key: string): boolean {
    if (asked.has(key) || askedBefore.has(key)) return true;
    if (asked.size >= REMEMBERED) {
      askedBefore = asked;
      asked = new Set();
    }
    asked.add(key);
    return false;
  }

  function keep(key: string, segment: HotSegment): void {
    // It may have been loaded once more by somebody who looked for it before it was here.
    size += segment.size - (kept.get(key)?.size ?? 0);
    kept.set(key, segment);
    // The one that rested longest comes first: `get` moves what it gives to the end.
    for (const [oldest, { size: freed }] of kept) {
      if (size <= bytes) break;
      kept.delete(oldest);
      size -= freed;
    }
  }

  async function load(key: string, object: ObjectHandle): Promise<HotSegment> {
    const memory = await object.bytes();
    const segment: HotSegment = {
      size: memory.length,
      ...(object.version !== undefined && { version: object.version }),
      memory,
      read: (range) => object.read(range),
    };
    keep(key, segment);
    return segment;
  }

  return {
    get(key) {
      const segment = kept.get(key);
      if (segment === undefined) return undefined;
      kept.delete(key);
      kept.set(key, segment);
      return segment;
    },
    async offer(key, object) {
      if (object.size > bytes / 8 || !askedAgain(key)) return undefined;
      const under = loading.get(key);
      if (under !== undefined) return under;
      const loaded = load(key, object).finally(() => loading.delete(key));
      loading.set(key, loaded);
      return loaded;
    },
  };
}
