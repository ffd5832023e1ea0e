import type { Log } from "../../kernel/index.ts";
import type { PathRow, BouncesTable } from "./bounces-table.ts";

/**
 * Writes the return paths of unauthenticated senders in batches. Their bounces are only traced, so if a path is lost in
 * a crash, only a line in the message log is missing and the bounce is rejected. One commit can therefore contain all
 * paths of a 50 ms interval.
 */
interface ReturnPathBatch {
  /** Resolves immediately unless the batch is full. */
  add(row: PathRow): Promise<void>;
  /** Resolves with a path, including one that is not yet written. */
  path(id: string): Promise<PathRow | undefined>;
  flush(): Promise<void>;
}

const MAX_BATCH = 500;
const GATHER_MS = 50;

export function createReturnPathBatch({
  table,
  log,
}: {
  table: Pick<BouncesTable, "insertPaths" | "path">;
  log: Log;
}): ReturnPathBatch {
  let pendingPaths: PathRow[] = [];
  let writing: Promise<unknown> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const rows = pendingPaths;
    pendingPaths = [];
    if (rows.length > 0)
      writing = Promise.all([
        writing,
        table
          .insertPaths(rows)
          .catch((err: unknown) =>
            log.warn(
              { err, paths: rows.length },
              "bounces: failed to store return paths; bounces to them will be rejected",
            ),
          ),
      ]);
    return writing.then(() => {});
  }

  return {
    async add(row) {
      pendingPaths.push(row);
      if (pendingPaths.length >= MAX_BATCH) return flush();
      timer ??= setTimeout(() => void flush(), GATHER_MS).unref();
    },
    async path(id) {
      await (pendingPaths.length > 0 ? flush() : writing);
      return table.path(id);
    },
    flush,
  };
}
