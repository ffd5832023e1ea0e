import type { Clock } from "../../../kernel/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import type { KvTable } from "./kv-table.ts";
import { OBJECT_PREFIX, type LargeValues } from "./large-values.ts";

export interface KvSweepOptions {
  /** Maximum number of expired keys, and of stored objects, checked per call. Default 10,000. */
  limit?: number;
  /** Objects without a row are kept for this long, because their put may be about to write the row. Default 24 h. */
  orphanGraceMs?: number;
}

export interface KvSweepResult {
  /** Number of expired keys removed. */
  expired: number;
  /** Number of unreferenced objects deleted. */
  orphans: number;
  /** True if this call reached the end of both; otherwise the next call resumes where this one stopped. */
  finished: boolean;
}

const BATCH_SIZE = 500;

/**
 * Rows are authoritative: an object without a row is garbage, but a row is never removed because its object is missing.
 */
export function createKvSweep({
  table,
  objects,
  large,
  clock,
}: {
  table: KvTable;
  objects: ObjectStore;
  large: LargeValues;
  clock: Clock;
}) {
  let after: string | undefined;

  async function removeExpired(limit: number): Promise<{ expired: number; finished: boolean }> {
    let expired = 0;
    while (expired < limit) {
      const batchLimit = Math.min(BATCH_SIZE, limit - expired);
      const { count, objects } = await table.deleteExpired(clock.now(), batchLimit);
      large.remove(objects);
      expired += count;
      if (count < batchLimit) return { expired, finished: true };
    }
    return { expired, finished: false };
  }

  async function removeOrphans(limit: number, before: number): Promise<{ orphans: number; finished: boolean }> {
    let examined = 0;
    let orphans = 0;
    let batch: string[] = [];
    const flush = async () => {
      const referencedKeys = await table.referenced(batch);
      const unreferencedKeys = batch.filter((key) => !referencedKeys.has(key));
      await objects.delete(unreferencedKeys);
      orphans += unreferencedKeys.length;
      batch = [];
    };
    for await (const { key, modified } of objects.list(OBJECT_PREFIX, after)) {
      after = key;
      if (modified.getTime() < before) batch.push(key);
      if (batch.length === BATCH_SIZE) await flush();
      if (++examined === limit) {
        await flush();
        return { orphans, finished: false };
      }
    }
    await flush();
    after = undefined;
    return { orphans, finished: true };
  }

  return async function sweep({
    limit = 10_000,
    orphanGraceMs = 24 * 3600_000,
  }: KvSweepOptions = {}): Promise<KvSweepResult> {
    const first = await removeExpired(limit);
    const second = await removeOrphans(limit, clock.now() - orphanGraceMs);
    return { expired: first.expired, orphans: second.orphans, finished: first.finished && second.finished };
  };
}
