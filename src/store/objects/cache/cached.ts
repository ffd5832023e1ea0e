import { createHash } from "node:crypto";
import type { Log } from "../../../kernel/index.ts";
import type { Metrics } from "../../../kernel/metrics.ts";
import { CacheUnavailable, createCacheFiles, type CachedFile, type CacheWriter } from "./files.ts";
import { createCachedHandles } from "./cached-handle.ts";
import { createFetcher } from "./fetch.ts";
import { createPartialCopies } from "./partial-copies.ts";
import { createAdaptiveRead } from "../fs/warm.ts";
import { checkKey } from "../keys.ts";
import type { ObjectStore, PutOptions, StoredObject } from "../port.ts";

export interface ObjectCacheOptions {
  /** Folder on the local disk; created if missing. Only one process may use it. Its files survive a restart. */
  dir: string;
  /**
   * Maximum size of all files in the folder, in bytes. Deleted files that other programs still have open do not count.
   */
  maxBytes: number;
  /** Objects up to this size are fetched whole, larger ones in blocks. Default 8 MiB. */
  maxWholeBytes?: number;
  /** Default 4 MiB. */
  blockBytes?: number;
  metrics?: Pick<Metrics, "counter" | "gauge">;
  log?: Pick<Log, "warn">;
}

const MIB = 1024 * 1024;
const WARN_INTERVAL_MS = 60_000;

/**
 * Caches objects of a remote store on the local disk when this process stores or reads them. Requires that each key is
 * written only once: after another process replaces or deletes an object, the cache may still return it. If the disk is
 * full or fails, requests go to the remote store.
 */
export function cachedObjects(
  remote: ObjectStore,
  { dir, maxBytes, maxWholeBytes = 8 * MIB, blockBytes = 4 * MIB, metrics, log }: ObjectCacheOptions,
): ObjectStore {
  const requests = metrics?.counter(
    "reelpost_object_cache_requests_total",
    "Reads of objects and blocks by result: hit, miss, or bypass if the local disk could not be used",
    ["result"],
  );
  const evictions = metrics?.counter("reelpost_object_cache_evictions_total", "Files deleted to make space for others");
  const bytesGauge = metrics?.gauge("reelpost_object_cache_bytes", "Bytes of objects on the local disk");
  let warnedAt = -Infinity;

  function warn(err: unknown): void {
    const now = performance.now();
    if (now - warnedAt < WARN_INTERVAL_MS) return;
    warnedAt = now;
    log?.warn({ err, folder: dir }, "objects: failed to write the local cache, objects are read from the remote store");
  }

  const files = createCacheFiles({ dir, maxBytes, onEvicted: () => evictions?.inc(), onFailure: warn });
  const count = (result: "hit" | "miss" | "bypass") => {
    requests?.inc({ result });
    bytesGauge?.set(files.usedBytes());
  };
  const fetcher = createFetcher(files);
  const handles = createCachedHandles({
    remote,
    files,
    fetcher,
    maxWholeBytes,
    blockBytes,
    idOf,
    count,
    warn,
    warmRead: createAdaptiveRead(),
  });

  /** Call when the object under this key may have been replaced or deleted. */
  function forget(key: string): void {
    const id = idOf(key);
    fetcher.invalidate(id);
    files.remove(id);
    bytesGauge?.set(files.usedBytes());
  }

  /** A failed write to the cache never fails a request. */
  async function quietly(work: () => unknown): Promise<void> {
    try {
      await work();
    } catch (err) {
      if (!(err instanceof CacheUnavailable)) throw err;
      warn(err);
    }
  }

  function createWriter(): CacheWriter | undefined {
    try {
      return files.create();
    } catch (err) {
      warn(err);
      return undefined;
    }
  }

  const copies = createPartialCopies({
    create: createWriter,
    // Larger copies would evict everything else.
    maxBytes: maxBytes / 2,
    onFailure: warn,
    async onCompleted(key, copy) {
      forget(key);
      await quietly(() => copy?.finish(idOf(key), undefined));
    },
  });

  async function putBytes(key: string, bytes: Uint8Array, options?: PutOptions): Promise<StoredObject> {
    const stored = await remote.put(key, bytes, options);
    if (stored.isExisting) return stored;
    forget(key);
    if (bytes.length > maxBytes / 2) return stored;
    const writer = createWriter();
    await quietly(async () => {
      await writer?.write(bytes);
      writer?.finish(idOf(key), stored.version);
    });
    writer?.abort();
    return stored;
  }

  async function putStream(key: string, body: AsyncIterable<Uint8Array>, options?: PutOptions): Promise<StoredObject> {
    let writer = createWriter();
    const stopCopying = () => {
      writer?.abort();
      writer = undefined;
    };
    async function* copying() {
      for await (const chunk of body) {
        await writer?.write(chunk).catch((err: unknown) => {
          warn(err);
          stopCopying();
        });
        // A larger object would evict everything else.
        if (writer !== undefined && writer.size > maxBytes / 2) stopCopying();
        yield chunk;
      }
    }
    try {
      const stored = await remote.put(key, copying(), options);
      if (stored.isExisting) return stored;
      forget(key);
      if (writer?.size === stored.size) await quietly(() => writer?.finish(idOf(key), stored.version));
      return stored;
    } finally {
      writer?.abort();
    }
  }

  return {
    async put(key, body, options) {
      try {
        return await (body instanceof Uint8Array ? putBytes(key, body, options) : putStream(key, body, options));
      } catch (err) {
        // The remote store may have stored the object even if its response was lost.
        forget(key);
        throw err;
      }
    },
    async putFile(key, path, options) {
      await remote.putFile(key, path, options).finally(() => forget(key));
      await quietly(() => files.adopt(idOf(key), path, undefined));
    },
    async open(key) {
      checkKey(key);
      return handles.open(key);
    },
    async copy(from, to) {
      await remote.copy(from, to).finally(() => forget(to));
      const source = files.find(idOf(from));
      if (source !== undefined) await quietly(() => files.adopt(idOf(to), source.path, undefined));
    },
    async leaseFile(key) {
      checkKey(key);
      const handle = await handles.open(key);
      if (handle === undefined) return undefined;
      try {
        const file: CachedFile = await handle.wholeFile();
        return { path: file.path, release: files.pin(file) };
      } catch (err) {
        if (!(err instanceof CacheUnavailable)) throw err;
        warn(err);
        count("bypass");
        return remote.leaseFile(key);
      }
    },
    partial(key) {
      return copies.copying(key, remote.partial(key));
    },
    async delete(keys) {
      for (const key of keys) checkKey(key);
      await remote.delete(keys).finally(() => {
        for (const key of keys) forget(key);
      });
    },
    removeEmptyFolders: (prefix) => remote.removeEmptyFolders(prefix),
    list: (prefix, after) => remote.list(prefix, after),
  };
}

/** Returns the cache id of a whole object. */
const idOf = (key: string): string => createHash("sha256").update(key).digest("hex").slice(0, 40);
