import type { Clock } from "../../../kernel/index.ts";
import type { Db, ObjectStore } from "../../../store/index.ts";
import { pruneFiles, pruneManifests, referencedAssetObjects } from "./assets-table.ts";
import { ASSET_OBJECT_PREFIX } from "./object-prefix.ts";
import type { AssetTables } from "./schema.ts";
import { pruneVersionAssets, type TablesWithVersions } from "./version-assets-table.ts";

export interface AssetSweepOptions {
  /** Maximum number of manifests, of files and of objects checked per call. Default 10,000. */
  limit?: number;
  /** How long unused manifests and files are kept, because an upload session may be about to use them. Default 24 h. */
  graceMs?: number;
}

const BATCH = 500;

/**
 * Returns a function that deletes manifests and files that no version uses, then objects without a file. Each call
 * continues where the previous one stopped.
 */
export function createAssetSweep({ db, objects, clock }: { db: Db; objects: ObjectStore; clock: Clock }) {
  let after: string | undefined;

  async function removeUnreferenced(keys: string[]): Promise<number> {
    const referencedKeys = await referencedAssetObjects(db.tables<AssetTables>(), keys);
    const unusedKeys = keys.filter((key) => !referencedKeys.has(key));
    await objects.delete(unusedKeys);
    return unusedKeys.length;
  }

  /** Removes in batches, to keep each transaction short. */
  async function inBatches(limit: number, remove: (batch: number) => Promise<number>): Promise<number> {
    let total = 0;
    while (total < limit) {
      const removedCount = await remove(Math.min(BATCH, limit - total));
      total += removedCount;
      if (removedCount === 0) break;
    }
    return total;
  }

  return async function sweep({ limit = 10_000, graceMs = 24 * 3600_000 }: AssetSweepOptions = {}) {
    const before = clock.now() - graceMs;
    await pruneVersionAssets(db.tables<TablesWithVersions>());
    const manifests = await inBatches(limit, () =>
      db.transaction<AssetTables, number>((tx) => pruneManifests(tx, before, 1)),
    );
    const files = await inBatches(limit, (batch) =>
      db.transaction<AssetTables, number>((tx) => pruneFiles(tx, before, batch)),
    );
    let examinedCount = 0;
    let removedCount = 0;
    let batch: string[] = [];
    let isFinished = true;
    for await (const { key, modified } of objects.list(ASSET_OBJECT_PREFIX, after)) {
      after = key;
      if (modified.getTime() < before) batch.push(key);
      if (batch.length === BATCH) removedCount += await removeUnreferenced(batch.splice(0));
      if (++examinedCount === limit) {
        isFinished = false;
        break;
      }
    }
    removedCount += await removeUnreferenced(batch);
    if (isFinished) after = undefined;
    return { manifests, files, objects: removedCount, finished: isFinished };
  };
}
