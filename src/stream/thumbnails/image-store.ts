import { hash } from "node:crypto";
import { Readable } from "node:stream";
import type { Log } from "../../kernel/index.ts";
import { createKeyedQueue, type KeyedQueue } from "../../kernel/keyed-queue.ts";
import type { ObjectHandle, ObjectStore } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";

interface ImageStore {
  /**
   * Returns the stored image with this name, or the result of `make`. Concurrent calls for the same name share one
   * result. Throws encoderBusy.
   */
  get(uid: string, name: string, make: () => Promise<Buffer>): Promise<ObjectHandle>;
}

interface ImageStoreDeps {
  objects: ObjectStore;
  /** Resolves with true if the video still exists. */
  exists: (uid: string) => Promise<boolean>;
  log: Log;
  /** Maximum number of stored images per video; additional images are rendered for each request. Default 500. */
  maxStoredImages?: number;
  /** Maximum bytes of all stored images per video. Default 64 MiB, the maximum size of one animated image. */
  maxStoredBytes?: number;
}

/** Limits renderings per video: a thousand image requests for one video must not block the encoder for others. */
export const IMAGE_QUEUE = { concurrency: 2, maxWaiting: 50 };

/** Queues renderings by video. Rejects with encoderBusy if too many for one video are waiting. */
export const createImageQueue = (): KeyedQueue =>
  createKeyedQueue({ ...IMAGE_QUEUE, full: (waitingCount) => streamErrors.encoderBusy({ waiting: waitingCount }) });

/** Maximum number of videos whose image counts are cached. */
const MAX_CACHED_COUNTS = 2000;

const MAX_KNOWN_KEYS = 10_000;
const DIGEST_DIGITS = 16;

interface Count {
  kept: number;
  octets: number;
}

/** Stores rendered images, up to a limit, because a viewer may request any number of different images. */
export function createImageStore({
  objects,
  exists,
  log,
  maxStoredImages = 500,
  maxStoredBytes = 64 * 1024 * 1024,
}: ImageStoreDeps): ImageStore {
  const pending = new Map<string, Promise<ObjectHandle>>();
  const counts = new Map<string, Promise<Count>>();
  /** Keys by name, so that reading an image again needs no list request. */
  const knownKeys = new Map<string, string>();
  const queue = createImageQueue();

  async function openImage(uid: string, name: string): Promise<ObjectHandle | undefined> {
    const base = `${prefixOf(uid)}${name}`;
    const known = knownKeys.get(base);
    const image = known === undefined ? undefined : await objects.open(known);
    if (image !== undefined) return image;
    for await (const { key } of objects.list(base)) {
      // Keys of earlier versions contain no digest.
      if (key !== base && !key.startsWith(`${base}.`)) continue;
      remember(base, key);
      return objects.open(key);
    }
    return undefined;
  }

  function remember(base: string, key: string) {
    knownKeys.delete(base);
    knownKeys.set(base, key);
    if (knownKeys.size > MAX_KNOWN_KEYS) knownKeys.delete(knownKeys.keys().next().value!);
  }

  async function storeImage(uid: string, name: string, bytes: Buffer): Promise<ObjectHandle> {
    const base = `${prefixOf(uid)}${name}`;
    // Two processes may render the same image with different bytes, so the key contains a digest.
    const key = `${base}.${hash("sha256", bytes, "hex").slice(0, DIGEST_DIGITS)}`;
    try {
      const count = await countOf(uid);
      if (count.kept >= maxStoredImages || count.octets + bytes.length > maxStoredBytes) return toObjectHandle(bytes);
      count.kept++;
      count.octets += bytes.length;
      await objects.put(key, bytes);
      // The video may have been deleted in the meantime, together with everything that was stored then.
      if (!(await exists(uid))) await objects.delete([key]);
      const image = await objects.open(key);
      if (image !== undefined) remember(base, key);
      return image ?? toObjectHandle(bytes);
    } catch (err) {
      // The image can be served even if the disk is full.
      log.warn({ video: uid, key, err }, "thumbnails: failed to store an image, will render it again");
      return toObjectHandle(bytes);
    }
  }

  function countOf(uid: string): Promise<Count> {
    const countPromise = counts.get(uid) ?? countStored(uid);
    counts.delete(uid);
    if (counts.size >= MAX_CACHED_COUNTS) counts.delete(counts.keys().next().value!);
    counts.set(uid, countPromise);
    countPromise.catch(() => counts.delete(uid));
    return countPromise;
  }

  async function countStored(uid: string): Promise<Count> {
    const count = { kept: 0, octets: 0 };
    for await (const { size } of objects.list(prefixOf(uid))) {
      count.octets += size;
      if (++count.kept >= maxStoredImages) break;
    }
    return count;
  }

  return {
    async get(uid, name, make) {
      const key = `${prefixOf(uid)}${name}`;
      const pendingImage = pending.get(key);
      if (pendingImage !== undefined) return pendingImage;
      const loadedImage = (async () => (await openImage(uid, name)) ?? storeImage(uid, name, await queue(uid, make)))();
      pending.set(key, loadedImage);
      return loadedImage.finally(() => pending.delete(key));
    },
  };
}

const prefixOf = (uid: string) => `stream/${uid}/thumbs/`;

const toObjectHandle = (bytes: Buffer): ObjectHandle => ({
  size: bytes.length,
  read: ({ start = 0, end = bytes.length - 1 } = { start: 0 }) => Readable.from([bytes.subarray(start, end + 1)]),
  bytes: async () => bytes,
});
