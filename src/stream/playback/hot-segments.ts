import type { ObjectHandle } from "../../store/index.ts";

/** A segment in memory. */
type HotSegment = Pick<ObjectHandle, "size" | "version" | "read"> & { memory: Buffer };

/** Cache of segments that several viewers request: sending from memory costs half as much as reading first. */
export interface HotSegments {
  get(key: string): HotSegment | undefined;
  /**
   * Called for every segment sent from a source other than this cache. Undefined: not worth caching, as for most
   * segments with a single viewer.
   */
  offer(key: string, object: ObjectHandle): Promise<HotSegment | undefined>;
}

/** Maximum number of segments to track that have been requested once, in each of two generations. */
const MAX_TRACKED = 8192;

/**
 * `bytes`: maximum size of the cache; 0: disabled. Segments never change under their URL, so entries are never stale.
 */
export function createHotSegments({ bytes }: { bytes: number }): HotSegments {
  const kept = new Map<string, HotSegment>();
  const loading = new Map<string, Promise<HotSegment>>();
  let size = 0;
  let requestedNow = new Set<string>();
  let requestedBefore = new Set<string>();

  function requestedAgain(key: string): boolean {
    if (requestedNow.has(key) || requestedBefore.has(key)) return true;
    if (requestedNow.size >= MAX_TRACKED) {
      requestedBefore = requestedNow;
      requestedNow = new Set();
    }
    requestedNow.add(key);
    return false;
  }

  function store(key: string, segment: HotSegment): void {
    // A concurrent cache miss may have loaded it a second time.
    size += segment.size - (kept.get(key)?.size ?? 0);
    kept.set(key, segment);
    // Least recently used first: `get` moves entries to the end.
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
    store(key, segment);
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
      if (object.size > bytes / 8 || !requestedAgain(key)) return undefined;
      const inFlight = loading.get(key);
      if (inFlight !== undefined) return inFlight;
      const loaded = load(key, object).finally(() => loading.delete(key));
      loading.set(key, loaded);
      return loaded;
    },
  };
}
