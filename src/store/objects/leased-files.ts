import type { FileLease, ObjectStore } from "./port.ts";

/**
 * Leases the objects and calls `use` with their paths; undefined for a missing object. Releases the files when `use`
 * has finished.
 */
export async function withLeasedFiles<Result>(
  objects: Pick<ObjectStore, "leaseFile">,
  keys: readonly string[],
  use: (paths: readonly (string | undefined)[]) => Promise<Result>,
): Promise<Result> {
  const leases: (FileLease | undefined)[] = [];
  try {
    const settled = await Promise.allSettled(
      keys.map(async (key, index) => {
        leases[index] = await objects.leaseFile(key);
      }),
    );
    for (const result of settled) if (result.status === "rejected") throw result.reason;
    return await use(keys.map((_, index) => leases[index]?.path));
  } finally {
    for (const lease of leases) lease?.release();
  }
}
