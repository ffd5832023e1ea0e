import { Fault } from "../../../kernel/index.ts";
import { storeErrors } from "../../errors.ts";
import type { CachedFile, CacheFiles, CacheWriter } from "./files.ts";
import type { ObjectHandle } from "../port.ts";

interface FetchRequest {
  /** Id of the cache file. */
  id: string;
  key: string;
  object: ObjectHandle;
  /** `end` inclusive. */
  start: number;
  end: number;
}

/** Downloads into the cache. Concurrent requests for the same file share one download. */
export interface Fetcher {
  /**
   * Rejects with CacheUnavailable, with StoreError objectChanged if the object was replaced or deleted in the meantime,
   * or with the error of the remote store.
   */
  fetch(request: FetchRequest): Promise<CachedFile>;
  /** Prevents a running download of this file from being added to the cache. */
  invalidate(id: string): void;
}

/** Larger files are downloaded with several concurrent requests. */
const PART_BYTES = 8 * 1024 * 1024;
const CONCURRENT_PARTS = 6;

interface Download {
  promise: Promise<CachedFile>;
  isOutdated: boolean;
}

export function createFetcher(files: CacheFiles): Fetcher {
  const downloads = new Map<string, Download>();

  async function download({ id, key, object, start, end }: FetchRequest, isOutdated: () => boolean) {
    const writer = files.create(end - start + 1);
    try {
      const ranges = rangesOf(start, end);
      await runConcurrently(CONCURRENT_PARTS, ranges, (range) => copyRange(object, range, writer, range.start - start));
      if (isOutdated()) throw storeErrors.objectChanged({ key });
      return writer.finish(id, object.version ?? "");
    } finally {
      writer.abort();
    }
  }

  return {
    fetch(request) {
      const current = downloads.get(request.id);
      if (current !== undefined && !current.isOutdated) return current.promise;
      const started = { isOutdated: false } as Download;
      started.promise = download(request, () => started.isOutdated).finally(() => {
        if (downloads.get(request.id) === started) downloads.delete(request.id);
      });
      downloads.set(request.id, started);
      return started.promise;
    },
    invalidate(id) {
      const current = downloads.get(id);
      if (current !== undefined) current.isOutdated = true;
    },
  };
}

interface Range {
  start: number;
  end: number;
}

/** If an item fails, starts no others, and rejects when the running ones have ended: nothing is written afterwards. */
async function runConcurrently<Item>(max: number, items: Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const remaining = [...items];
  const workers = Array.from({ length: Math.min(max, items.length) }, async () => {
    try {
      for (let item = remaining.shift(); item !== undefined; item = remaining.shift()) await work(item);
    } catch (err) {
      remaining.length = 0;
      throw err;
    }
  });
  for (const result of await Promise.allSettled(workers)) if (result.status === "rejected") throw result.reason;
}

async function copyRange(object: ObjectHandle, range: Range, writer: CacheWriter, offset: number): Promise<void> {
  const wanted = range.end - range.start + 1;
  let received = 0;
  for await (const chunk of object.read(range) as AsyncIterable<Uint8Array>) {
    if (received + chunk.length > wanted) break;
    await writer.write(chunk, offset + received);
    received += chunk.length;
  }
  if (received !== wanted) throw new Fault(`the object store returned ${received} of ${wanted} bytes`);
}

function rangesOf(start: number, end: number): Range[] {
  const ranges: Range[] = [];
  for (let at = start; at <= end; at += PART_BYTES) ranges.push({ start: at, end: Math.min(end, at + PART_BYTES - 1) });
  return ranges;
}
