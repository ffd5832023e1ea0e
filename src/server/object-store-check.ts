import { messageOf, UserError, type Ids } from "../kernel/index.ts";
import type { Store } from "../store/index.ts";
import { serverErrors } from "./errors.ts";
import { OBJECT_STORE_ID_KEY } from "./storage-identity.ts";

const CACHE_MS = 5000;
const TIMEOUT_MS = 2000;

interface CheckedObjects {
  objects: Pick<Store["objects"], "open" | "put" | "list" | "delete">;
  ids: Pick<Ids, "hex">;
}

/**
 * Reads from the object store, and resolves with the round trip in milliseconds. With `writes`, also stores, lists and
 * deletes an object. Throws StoreError, and objectsUnavailable if the object with the id of the store is missing.
 */
export async function checkObjectStore(
  { objects, ids }: CheckedObjects,
  { writes = false }: { writes?: boolean } = {},
): Promise<number> {
  const key = `check-${ids.hex()}`;
  const before = performance.now();
  // An object that does not exist: a cache cannot answer in place of the store.
  await objects.open(key);
  const elapsed = performance.now() - before;
  if ((await objects.open(OBJECT_STORE_ID_KEY)) === undefined)
    throw serverErrors.objectsUnavailable({ reason: "the object with its id is missing" });
  if (writes) await checkWrites(objects, key);
  return elapsed;
}

async function checkWrites(objects: CheckedObjects["objects"], key: string): Promise<void> {
  await objects.put(key, Buffer.from(key));
  try {
    // A list, because a cache answers reads of an object that this process has stored.
    for await (const found of objects.list(key)) if (found.key === key && found.size === key.length) return;
    throw serverErrors.objectsUnavailable({ reason: "an object that was just stored is not listed" });
  } finally {
    await objects.delete([key]);
  }
}

const isObjectsUnavailable = (err: unknown) => err instanceof UserError && err.kind === "objectsUnavailable";

/** For requests that are frequent: reads at most every five seconds, and waits two seconds at most. */
interface ObjectStoreProbe {
  /** Resolves with the round trip in milliseconds. Throws objectsUnavailable. */
  check(): Promise<number>;
}

export function createObjectStoreProbe(checked: CheckedObjects): ObjectStoreProbe {
  let last: { at: number; result: Promise<number> } | undefined;

  async function measureInTime(): Promise<number> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`no response within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
    try {
      return await Promise.race([checkObjectStore(checked), late]);
    } catch (err) {
      throw isObjectsUnavailable(err)
        ? err
        : serverErrors.objectsUnavailable({ reason: messageOf(err) }, { cause: err });
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    check() {
      const now = performance.now();
      if (last === undefined || now - last.at >= CACHE_MS) last = { at: now, result: measureInTime() };
      return last.result;
    },
  };
}
