import type { Log } from "../../kernel/index.ts";
import type { PathRow, ReturnsTable } from "./returns-table.ts";

/**
 * Return paths that nobody waits for. What comes back for a sender nobody vouches for goes no further: a path that is lost costs a line in the
 * log of messages, and what comes back to it is refused. So they are gathered, and one commit is for all of a moment.
 */
export interface LaterPaths {
  /** Resolves at once, unless too many wait. */
  add(row: PathRow): Promise<void>;
  /** A path, also one that still waits. */
  path(id: string): Promise<PathRow | undefined>;
  flush(): Promise<void>;
}

const MOST = 500;
const GATHER_MS = 50;

export function createLaterPaths({
  table,
  log,
}: {
  table: Pick<ReturnsTable, "insertPaths" | "path">;
  log: Log;
}): LaterPaths {
  let waiting: PathRow[] = [];
  let writing: Promise<unknown> = Promise.resolve();
  let timer: NodeJS.Timeout | undefined;

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const rows = waiting;
    waiting = [];
    if (rows.length > 0)
      writing = Promise.all([
        writing,
        table
          .insertPaths(rows)
          .catch((err: unknown) =>
            log.warn({ err, paths: rows.length }, "return paths could not be kept: what comes back to them is refused"),
          ),
      ]);
    return writing.then(() => {});
  }

  return {
    async add(row) {
      waiting.push(row);
      if (waiting.length >= MOST) return flush();
      timer ??= setTimeout(() => void flush(), GATHER_MS).unref();
    },
    async path(id) {
      await (waiting.length > 0 ? flush() : writing);
      return table.path(id);
    },
    flush,
  };
}
