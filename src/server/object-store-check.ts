import { messageOf, type Ids } from "../kernel/index.ts";
import type { Store } from "../store/index.ts";
import { serverErrors } from "./errors.ts";
import { OBJECTS_ID } from "./storage-identity.ts";

const CACHE_MS = 5000;
const TIMEOUT_MS = 2000;

/** Checks whether the object store responds, at most every five seconds. */
interface ObjectStoreCheck {
  /** Resolves with the round-trip time in milliseconds. Throws objectsUnavailable. */
  check(): Promise<number>;
}

export function createObjectStoreCheck(
  objects: Pick<Store["objects"], "open">,
  ids: Pick<Ids, "hex">,
): ObjectStoreCheck {
  let last: { at: number; result: Promise<number> } | undefined;

  async function measure(): Promise<number> {
    const before = performance.now();
    // The object does not exist, so the request cannot be served from the cache.
    await objects.open(`check-${ids.hex()}`);
    const elapsed = performance.now() - before;
    if ((await objects.open(OBJECTS_ID)) === undefined) throw new Error("the object with its id is missing");
    return elapsed;
  }

  async function measureInTime(): Promise<number> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => reject(new Error(`no response within ${TIMEOUT_MS / 1000} s`)), TIMEOUT_MS);
    try {
      return await Promise.race([measure(), late]);
    } catch (cause) {
      throw serverErrors.objectsUnavailable({ reason: messageOf(cause) }, { cause });
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
