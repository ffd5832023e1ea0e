import type { Clock } from "../../kernel/index.ts";
import type { Db, ObjectStore } from "../../store/index.ts";
import { MODULE_PREFIX } from "./module-objects.ts";
import type { ScriptsTables } from "./schema.ts";
import { referencedObjects } from "./versions-table.ts";

export interface ModuleSweepOptions {
  /** Maximum number of objects checked per call. Default 10,000. */
  limit?: number;
  /** Objects without a version are kept for this long: their upload may be about to write it. Default 24 h. */
  orphanGraceMs?: number;
}

const BATCH_SIZE = 500;

/** Deletes modules that no version uses. The next call continues where this one stopped. */
export function createModuleSweep({ db, objects, clock }: { db: Db; objects: ObjectStore; clock: Clock }) {
  let after: string | undefined;

  async function removeUnreferenced(keys: string[]): Promise<number> {
    const usedKeys = await referencedObjects(db.tables<ScriptsTables>(), keys);
    const unusedKeys = keys.filter((key) => !usedKeys.has(key));
    await objects.delete(unusedKeys);
    return unusedKeys.length;
  }

  return async function sweep({ limit = 10_000, orphanGraceMs = 24 * 3600_000 }: ModuleSweepOptions = {}): Promise<{
    orphans: number;
    finished: boolean;
  }> {
    const before = clock.now() - orphanGraceMs;
    let examined = 0;
    let orphans = 0;
    let batch: string[] = [];
    let finished = true;
    for await (const { key, modified } of objects.list(MODULE_PREFIX, after)) {
      after = key;
      if (modified.getTime() < before) batch.push(key);
      if (batch.length === BATCH_SIZE) orphans += await removeUnreferenced(batch.splice(0));
      if (++examined === limit) {
        finished = false;
        break;
      }
    }
    orphans += await removeUnreferenced(batch);
    if (finished) after = undefined;
    return { orphans, finished };
  };
}
