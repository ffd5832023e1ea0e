import { createHash } from "node:crypto";
import { openFsObjects } from "./fs/fs.ts";
import type { ObjectStore } from "./port.ts";

const digestsByFolder = new Map<string, Map<string, string>>();

/** Returns the digests of a folder, which all stores of a test on this folder share. */
export const digestsOf = (folder: string): Map<string, string> =>
  digestsByFolder.getOrInsertComputed(folder, () => new Map());

/** Opens the objects in a folder; see writeOnceObjects(). */
export async function openWriteOnceObjects({ folder }: { folder: string }): Promise<ObjectStore> {
  return writeOnceObjects(await openFsObjects({ folder }), digestsOf(folder));
}

/**
 * Fails the test when a key is stored twice with different bytes, even after a deletion: other nodes may still have the
 * first object in their caches. The error is also thrown outside of the call, because the code under test may catch it.
 */
export function writeOnceObjects(objects: ObjectStore, digests = new Map<string, string>()): ObjectStore {
  function record(key: string, digest: string): void {
    const before = digests.get(key);
    if (before === digest) return;
    digests.set(key, digest);
    if (before === undefined) return;
    const error = new Error(`the object ${key} was stored twice with different bytes`);
    queueMicrotask(() => {
      throw error;
    });
    throw error;
  }

  async function recordStored(key: string): Promise<void> {
    const object = await objects.open(key);
    if (object === undefined) return;
    const hash = createHash("sha256");
    for await (const chunk of object.read()) hash.update(chunk as Uint8Array);
    record(key, hash.digest("hex"));
  }

  return {
    ...objects,
    async put(key, body, options) {
      const stored = await objects.put(key, body, options);
      if (!stored.isExisting) record(key, stored.sha256);
      return stored;
    },
    async putFile(key, path, options) {
      await objects.putFile(key, path, options);
      await recordStored(key);
    },
    async copy(from, to) {
      await objects.copy(from, to);
      await recordStored(to);
    },
    partial(key) {
      const partial = objects.partial(key);
      return {
        ...partial,
        async complete(size) {
          await partial.complete(size);
          await recordStored(key);
        },
      };
    },
  };
}
