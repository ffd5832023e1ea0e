import type { FileLease, ObjectStore } from "./port.ts";

/**
 * Calls `use` with the path of each object, or undefined if it is missing, and releases the files when `use` has
 * finished.
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
