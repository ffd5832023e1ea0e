import { messageOf, type Log } from "../../../kernel/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import type { RemovedVersion, RemovedTable } from "./removed-table.ts";

/** Returns the name of a blob in the object store. */
export const blobKey = (bucket: string, blob: string) => `r2/${bucket}/${blob}`;

/**
 * Deletes the bytes of removed versions once no reader in this process is using them. It works in the background, and
 * its pending work may be lost in a crash or store failure; the sweep then deletes the bytes.
 */
export interface Removal {
  /** If false, enqueue() does nothing, and the sweep does all the work. */
  readonly immediate: boolean;
  /**
   * Registers a reader. Returns the function to call when the reader ends; undefined if the bytes are already being
   * deleted because the row that the reader found is out of date.
   */
  beginRead(owner: string): (() => void) | undefined;
  isBeingRead(owner: string): boolean;
  /** Queues the bytes of these rows for deletion. Call it once the deletion of the rows has been committed. */
  enqueue(removed: RemovedVersion[]): void;
  /** Deletes bytes that never got a row. */
  discard(bucket: string, blob: string): Promise<void>;
  /** Resolves when no deletion is running. Does not wait for active readers. */
  settled(): Promise<void>;
}

/** Maximum number of versions waiting for deletion here; further ones are left to the sweep. */
const MAX_WAITING_REMOVALS = 10_000;
/** Number of blobs of a multipart object deleted together. */
const BATCH_SIZE = 500;

export function createRemoval({
  objects,
  table,
  log,
  immediate,
}: {
  objects: ObjectStore;
  table: RemovedTable;
  log: Log;
  immediate: boolean;
}): Removal {
  const readers = new Map<string, { count: number; afterwards?: RemovedVersion }>();
  const waitingRemovals = new Map<string, RemovedVersion>();
  let currentRun: Promise<void> | undefined;

  function wait(removed: RemovedVersion) {
    if (waitingRemovals.size >= MAX_WAITING_REMOVALS) return;
    waitingRemovals.set(removed.owner, removed);
    void start();
  }

  function start(): Promise<void> {
    return (currentRun ??= run().finally(() => {
      currentRun = undefined;
      // A removal has arrived since the last check.
      if (waitingRemovals.size > 0) return start();
    }));
  }

  /** Runs one round after another; the plain objects of a round are deleted together. */
  async function run() {
    // Lets the rest of a burst of removals arrive in this event loop turn.
    await Promise.resolve();
    while (waitingRemovals.size > 0) {
      const round = [...waitingRemovals.values()].slice(0, BATCH_SIZE);
      try {
        await objects.delete(
          round.filter(({ multipart }) => !multipart).map(({ bucket, owner }) => blobKey(bucket, owner)),
        );
        for (const removed of round) if (removed.multipart) await deleteParts(removed);
      } catch (err) {
        log.warn(
          { err, versions: round.length },
          "r2: failed to delete the data of removed objects; the sweep will retry",
        );
      }
      for (const { owner } of round) waitingRemovals.delete(owner);
    }
  }

  async function deleteParts({ bucket, owner }: RemovedVersion) {
    let after = "";
    for (;;) {
      const blobs = await table.blobsOf(owner, after, BATCH_SIZE);
      await objects.delete(blobs.map((blob) => blobKey(bucket, blob)));
      if (blobs.length < BATCH_SIZE) return;
      after = blobs.at(-1)!;
    }
  }

  return {
    immediate,
    beginRead(owner) {
      if (waitingRemovals.has(owner)) return undefined;
      const entry = readers.get(owner) ?? { count: 0 };
      entry.count++;
      readers.set(owner, entry);
      let hasEnded = false;
      return () => {
        if (hasEnded) return;
        hasEnded = true;
        if (--entry.count > 0) return;
        readers.delete(owner);
        if (entry.afterwards) wait(entry.afterwards);
      };
    },
    isBeingRead: (owner) => readers.has(owner),
    enqueue(removed) {
      if (!immediate) return;
      for (const removedItem of removed) {
        const reader = readers.get(removedItem.owner);
        if (reader) reader.afterwards = removedItem;
        else wait(removedItem);
      }
    },
    async discard(bucket, blob) {
      await objects
        .delete([blobKey(bucket, blob)])
        .catch((err: unknown) =>
          log.warn(
            { bucket, blob, reason: messageOf(err) },
            "r2: failed to delete the data of a rejected upload; the sweep will retry",
          ),
        );
    },
    settled: async () => currentRun,
  };
}
