import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { silentLog, systemClock, type Clock, type Log } from "../../../kernel/index.ts";
import { makeDurableFolder } from "../../../store/index.ts";
import type { StatementOptions } from "./database.ts";
import { copyDatabaseFile } from "./copy-file.ts";
import { d1Errors } from "./errors.ts";
import { databaseFileName } from "./file-name.ts";
import { createProcessPool } from "./process-pool.ts";
import { d1Limits, type D1Limits } from "./limits.ts";
import type { D1Databases } from "./port.ts";
import { createStatementCalls } from "./statement-calls.ts";
import { runExport, runImport } from "./transfers/process.ts";

export interface D1DatabasesOptions {
  /** The directory of the database files; created if missing. */
  directory: string;
  limits?: Partial<D1Limits>;
  /** Maximum number of processes that run SQL. Default 4; each takes about 60 MB while it runs. */
  processes?: number;
  /** Idle time after which a file is closed, and later its process. Default: one minute. */
  idleMs?: number;
  clock?: Clock;
  log?: Log;
}

export function createD1Databases(options: D1DatabasesOptions): D1Databases {
  const { directory, processes = 4, idleMs = 60_000, clock = systemClock, log = silentLog } = options;
  const limits = { ...d1Limits, ...options.limits };
  makeDurableFolder(directory);
  const pool = createProcessPool({ directory, limits, clock, log, processes, idleMs });
  const fileOf = (id: string) => join(directory, databaseFileName(id));
  const filesOf = (id: string) => ["", "-wal", "-shm"].map((suffix) => fileOf(id) + suffix);

  const closing = new AbortController();
  const stopSignalFor = (signal?: AbortSignal) => (signal ? AbortSignal.any([signal, closing.signal]) : closing.signal);

  async function exchange(id: string, options: StatementOptions, body: Uint8Array, signal?: AbortSignal) {
    if (body.length > limits.requestBytes) throw d1Errors.requestTooLarge({ requestBytes: limits.requestBytes });
    return pool.run(fileOf(id), { ...options }, body, signal);
  }

  return {
    limits,
    exchange,
    ...createStatementCalls(exchange),
    import: (id, { open, size, mark }, { ready, signal } = {}) =>
      pool.runExclusively(
        fileOf(id),
        async () => {
          if (ready && !(await ready())) throw d1Errors.databaseNotFound({ id });
          return runImport(
            open(),
            { file: fileOf(id), size, mark },
            { directory, limits, signal: stopSignalFor(signal) },
          );
        },
        { afterMs: limits.importPatienceMs, error: () => d1Errors.importing() },
      ),
    export: (id, run, signal) => runExport(fileOf(id), run, { directory, limits, signal: stopSignalFor(signal) }),
    replace: (id, file) => pool.runExclusively(fileOf(id), () => copyDatabaseFile(file, fileOf(id))),
    async size(id) {
      const sizes = await Promise.all(
        filesOf(id)
          .slice(0, 2)
          .map((file) =>
            stat(file).then(
              ({ size }) => size,
              () => 0,
            ),
          ),
      );
      return sizes.reduce((sum, size) => sum + size, 0);
    },
    delete: (id) =>
      pool.runExclusively(
        fileOf(id),
        async () => void (await Promise.all(filesOf(id).map((file) => rm(file, { force: true })))),
      ),
    close() {
      closing.abort(d1Errors.closed());
      return pool.close();
    },
  };
}
