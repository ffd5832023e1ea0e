import type { Clock } from "../../../kernel/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import type { R2Limits } from "./limits.ts";
import { blobKey, type Removal } from "./removal.ts";
import type { RemovedTable } from "./removed-table.ts";
import type { UploadTable } from "./upload-table.ts";

export interface R2SweepOptions {
  /** Maximum number of orphaned entries of each kind, and of stored blobs, checked per call. Default 10,000. */
  limit?: number;
  /** Bytes without a row are kept for this long, because their put may be about to write the row. Default 24 h. */
  orphanGraceMs?: number;
  /** Bytes of removed objects are kept for this long, because other processes may be reading them. Default 1 h. */
  removedGraceMs?: number;
}

export interface R2SweepResult {
  /** Blobs deleted. */
  deleted: number;
  /** Uploads aborted because they were open for too long. */
  aborted: number;
  /** Stored blobs checked; the next call continues after them. */
  examined: number;
  /** True if this call reached the end of the store. */
  finished: boolean;
}

const BATCH_SIZE = 500;

interface SweepDeps {
  store: ObjectStore;
  uploads: UploadTable;
  removed: RemovedTable;
  removal: Removal;
  clock: Clock;
  limits: R2Limits;
}

/**
 * Cleans up after crashes. Rows are authoritative: a blob without a row is garbage, but a row is never removed because
 * its bytes are missing.
 */
export function createR2Sweep({ store, uploads, removed, removal, clock, limits }: SweepDeps) {
  let after: string | undefined;

  async function sweep({
    limit = 10_000,
    orphanGraceMs = 24 * 3600_000,
    removedGraceMs = 3600_000,
  }: R2SweepOptions = {}): Promise<R2SweepResult> {
    const aborted = await endUploads(Math.min(limit, BATCH_SIZE));
    const deleted = await deleteRemoved(clock.now() - removedGraceMs, limit);
    const orphans = await deleteOrphans(clock.now() - orphanGraceMs, limit);
    return { aborted, ...orphans, deleted: deleted + orphans.deleted };
  }

  async function endUploads(limit: number): Promise<number> {
    const oldUploads = await uploads.since(clock.now() - limits.uploadLifetimeMs, limit);
    const openUploads = oldUploads.filter(({ state }) => state === "open");
    for (const { bucket, key, upload_id } of openUploads) {
      const abortedBlobs = await uploads.abort({ bucket, key, uploadId: upload_id }, clock.now());
      removal.enqueue(abortedBlobs ?? []);
    }
    await uploads.forget(oldUploads.filter(({ state }) => state !== "open").map(({ upload_id }) => upload_id));
    return openUploads.length;
  }

  /**
   * Deletes bytes that a crash left behind after their row was deleted, or that were deliberately left to the sweep.
   */
  async function deleteRemoved(before: number, limit: number): Promise<number> {
    const rows = await removed.before(before, limit);
    const deletableRows = rows.filter(({ owner }) => !removal.isBeingRead(owner));
    for (let start = 0; start < deletableRows.length; start += BATCH_SIZE) {
      const batch = deletableRows.slice(start, start + BATCH_SIZE);
      await store.delete(batch.map(({ bucket, blob }) => blobKey(bucket, blob)));
      await removed.forget(batch.map(({ blob }) => blob));
    }
    return deletableRows.length;
  }

  /** Deletes bytes stored by a put that crashed before writing its row. */
  async function deleteOrphans(before: number, limit: number): Promise<Omit<R2SweepResult, "aborted">> {
    let examined = 0;
    let deleted = 0;
    let batch: string[] = [];
    for await (const { key, modified } of store.list("r2/", after)) {
      after = key;
      examined++;
      if (modified.getTime() < before) batch.push(key);
      if (batch.length === BATCH_SIZE) {
        deleted += await deleteUnknown(batch);
        batch = [];
      }
      if (examined === limit) return { examined, deleted: deleted + (await deleteUnknown(batch)), finished: false };
    }
    after = undefined;
    return { examined, deleted: deleted + (await deleteUnknown(batch)), finished: true };
  }

  async function deleteUnknown(keys: string[]): Promise<number> {
    if (keys.length === 0) return 0;
    const knownBlobs = await removed.known(keys.map(blobIdOf));
    const unknownKeys = keys.filter((key) => !knownBlobs.has(blobIdOf(key)) && !removal.isBeingRead(blobIdOf(key)));
    await store.delete(unknownKeys);
    return unknownKeys.length;
  }

  return sweep;
}

const blobIdOf = (key: string) => key.slice(key.lastIndexOf("/") + 1);
