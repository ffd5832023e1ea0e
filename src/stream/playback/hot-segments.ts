import type { ObjectHandle } from "../../store/index.ts";

/** A segment in memory. */
type HotSegment = Pick<ObjectHandle, "size" | "version" | "read"> & { memory: Buffer };

/** Cache of segments that several viewers request: sending from memory costs half as much as reading first. */
export interface HotSegments {
  get(key: string): HotSegment | undefined;
  /**
   * Called for every segment sent from a source other than this cache. Undefined if the segment is not worth caching,
   * as for most segments with a single viewer.
   */
  offer(key: string, object: ObjectHandle): Promise<HotSegment | undefined>;
}

/** Maximum number of segments to track that have been requested once, in each of two generations. */
const MAX_TRACKED = 8192;

/**
 * `bytes`: maximum size of the cache; 0: disabled. Segments never change under their URL, so entries are never stale.
 */
export function createHotSegments({ bytes }: { bytes: number }): HotSegments {
  const cachedSegments = new Map<string, HotSegment>();
  const loading = new Map<string, Promise<HotSegment>>();
  let size = 0;
  let currentRequests = new Set<string>();
  let previousRequests = new Set<string>();

  function recordRequest(key: string): boolean {
    if (currentRequests.has(key) || previousRequests.has(key)) return true;
    if (currentRequests.size >= MAX_TRACKED) {
      previousRequests = currentRequests;
      currentRequests = new Set();
    }
    currentRequests.add(key);
    return false;
  }

  function store(key: string, segment: HotSegment): void {
    // A concurrent cache miss may have loaded it a second time.
    size += segment.size - (cachedSegments.get(key)?.size ?? 0);
    cachedSegments.set(key, segment);
    // Least recently used first: `get` moves entries to the end.
    for (const [oldest, { size: freedBytes }] of cachedSegments) {
      if (size <= bytes) break;
      cachedSegments.delete(oldest);
      size -= freedBytes;
    }
  }

  async function load(key: string, object: ObjectHandle): Promise<HotSegment> {
    const segmentData = await object.bytes();
    const segment: HotSegment = {
      size: segmentData.length,
      ...(object.version !== undefined && { version: object.version }),
      memory: segmentData,
      read: (range) => object.read(range),
    };
    store(key, segment);
    return segment;
  }

  return {
    get(key) {
      const segment = cachedSegments.get(key);
      if (segment === undefined) return undefined;
      cachedSegments.delete(key);
      cachedSegments.set(key, segment);
      return segment;
    },
    async offer(key, object) {
      if (object.size > bytes / 8 || !recordRequest(key)) return undefined;
      const inFlight = loading.get(key);
      if (inFlight !== undefined) return inFlight;
      const pendingLoad = load(key, object).finally(() => loading.delete(key));
      loading.set(key, pendingLoad);
      return pendingLoad;
    },
  };
}
