import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import type { Ids, Log } from "../../../kernel/index.ts";
import { isStoreError, type ObjectStore } from "../../../store/index.ts";
import { kvErrors } from "./errors.ts";
import { kvLimits } from "./limits.ts";

/**
 * Values that are not stored in their row. An object is written under a unique name and never changed, so a row
 * references a complete value or nothing.
 */
export interface LargeValues {
  /** Writes an object, which is durable when the promise resolves, and unused until a row references it. */
  write(namespace: string, value: AsyncIterable<Uint8Array>): Promise<{ objectKey: string; size: number }>;
  /**
   * Resolves once the first bytes have arrived, or with undefined if the object has been deleted since the row was
   * read.
   */
  read(objectKey: string): Promise<Readable | undefined>;
  /** Deletes in the background objects that no row references any longer. Failures are left to the sweep. */
  remove(objectKeys: string[]): void;
  settled(): Promise<void>;
}

export const OBJECT_PREFIX = "kv/";

/** Maximum number of concurrent deletions; further ones are left to the sweep. */
const MAX_PENDING_REMOVALS = 1_000;

export function createLargeValues({ objects, ids, log }: { objects: ObjectStore; ids: Ids; log: Log }): LargeValues {
  const pendingRemovals = new Set<Promise<void>>();

  return {
    async write(namespace, value) {
      const objectKey = `${OBJECT_PREFIX}${folderOf(namespace)}/${ids.hex()}`;
      const countedValue = countBytes(value);
      try {
        const { size } = await objects.put(objectKey, countedValue.bytes, { maxBytes: kvLimits.valueBytes });
        return { objectKey, size };
      } catch (error) {
        if (isStoreError(error, "tooLarge"))
          throw kvErrors.valueTooLong({ length: await countedValue.length(), limit: kvLimits.valueBytes });
        throw error;
      }
    },

    async read(objectKey) {
      const handle = await objects.open(objectKey);
      if (!handle) return undefined;
      const stream = handle.read();
      try {
        await new Promise(
          (resolve, reject) => void stream.once("readable", resolve).once("end", resolve).once("error", reject),
        );
        return stream;
      } catch (error) {
        if (isStoreError(error, "objectChanged")) return undefined;
        throw error;
      }
    },

    remove(objectKeys) {
      if (objectKeys.length === 0 || pendingRemovals.size >= MAX_PENDING_REMOVALS) return;
      const removal = objects
        .delete(objectKeys)
        .catch((err: unknown) =>
          log.warn({ err, count: objectKeys.length }, "kv: failed to delete replaced values; the sweep will retry"),
        );
      pendingRemovals.add(removal);
      void removal.then(() => pendingRemovals.delete(removal));
    },

    settled: async () => void (await Promise.all(pendingRemovals)),
  };
}

/**
 * A namespace id comes from the configuration; a folder name contains only characters that every object store accepts.
 */
const folderOf = (namespace: string) =>
  /^[A-Za-z0-9_-]{1,64}$/.test(namespace) ? namespace : createHash("sha256").update(namespace).digest("hex");

/**
 * Counts the bytes of a value. `length()` reads the rest, up to a limit, because the error for a value that is too long
 * includes its length.
 */
function countBytes(value: AsyncIterable<Uint8Array>) {
  const iterator = value[Symbol.asyncIterator]();
  let length = 0;
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    const result = await iterator.next();
    if (!result.done) length += result.value.length;
    return result;
  };
  return {
    // No return(): abandoning the iteration must not end the request that carries the bytes, or there would be no
    // connection for the response.
    bytes: { [Symbol.asyncIterator]: () => ({ next }) },
    async length() {
      while (length < 16 * kvLimits.valueBytes && !(await next()).done);
      return length;
    },
  };
}
