import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { silentLog, systemClock, type Clock, type Log } from "../../../kernel/index.ts";
import { makeDurableFolder } from "../../../store/index.ts";
import type { StatementOptions, StatementInput } from "./database.ts";
import { copyDatabaseFile } from "./copy-file.ts";
import { d1Errors } from "./errors.ts";
import { databaseFileName } from "./file-name.ts";
import { createHosts } from "./hosts.ts";
import { d1Limits, type D1Limits } from "./limits.ts";
import type { ExportOptions } from "./transfers/export-sql.ts";
import type { Imported } from "./transfers/import-sql.ts";
import { runExport, runImport } from "./transfers/process.ts";

/**
 * The D1 databases of this machine: one SQLite file each, not opened by any other server. A database exists from its
 * first query.
 */
export interface D1Databases {
  /**
   * Runs all statements as one transaction and resolves when it is on the disk. With `script`, the SQL of a statement
   * may hold several statements and has a result for each. Rejects with `d1Errors.sql` for SQL errors.
   */
  query(
    id: string,
    statements: D1Statement[],
    options?: { script?: boolean; signal?: AbortSignal },
  ): Promise<D1QueryResult[]>;
  /**
   * A script for the API: a text with a single statement may bind values. Resolves with the array of results as JSON,
   * which may be large. Rejects like query().
   */
  script(
    id: string,
    statements: StatementInput[],
    options: { format: StatementOptions["format"]; signal?: AbortSignal },
  ): Promise<Buffer>;
  /**
   * The same, with request and response as the JSON bytes that workerd's D1 client exchanges. SQL errors are part of
   * the response.
   */
  exchange(id: string, options: StatementOptions, body: Uint8Array, signal?: AbortSignal): Promise<Buffer>;
  /**
   * Runs a SQL file as one transaction; queries wait, and are rejected with a reason if it takes longer. `ready` is
   * called when it is first in the queue and nothing else uses the database: false ends the import with
   * databaseNotFound. Rejects with `d1Errors.sql` for SQL errors; the database then contains no part of the file.
   */
  import(
    id: string,
    sql: { open(): Readable; size: number; mark: number },
    options?: { ready?(): Promise<boolean>; signal?: AbortSignal },
  ): Promise<Imported>;
  /**
   * Returns a consistent snapshot of the database as SQL; the database stays usable meanwhile. The stream fails with
   * `d1Errors.sql` for content that cannot be exported.
   */
  export(id: string, options: ExportOptions, signal?: AbortSignal): Readable;
  /** Replaces the database with a copy of a SQLite file that another program may be using. */
  replace(id: string, file: string): Promise<void>;
  /** Resolves with the number of bytes on the disk; 0 for a database that was never used. */
  size(id: string): Promise<number>;
  delete(id: string): Promise<void>;
  readonly limits: D1Limits;
  close(): Promise<void>;
}

interface D1Statement {
  sql: string;
  /** Values of parameters; bytes are an array of numbers. */
  params?: (null | number | string | boolean | number[])[];
}

interface D1QueryResult {
  results: { columns: string[]; rows: (null | number | string | number[])[][] };
  meta: {
    /** Milliseconds. */
    duration: number;
    changes: number;
    last_row_id: number;
    changed_db: boolean;
    /** Bytes. */
    size_after: number;
    rows_read: number;
    rows_written: number;
    [fieldName: string]: unknown;
  };
}

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
  const hosts = createHosts({ directory, limits, clock, log, processes, idleMs });
  const fileOf = (id: string) => join(directory, databaseFileName(id));
  const filesOf = (id: string) => ["", "-wal", "-shm"].map((suffix) => fileOf(id) + suffix);

  const closing = new AbortController();
  const stopSignalFor = (signal?: AbortSignal) => (signal ? AbortSignal.any([signal, closing.signal]) : closing.signal);

  async function exchange(id: string, run: StatementOptions, body: Uint8Array, signal?: AbortSignal) {
    if (body.length > limits.requestBytes) throw d1Errors.requestTooLarge({ requestBytes: limits.requestBytes });
    return hosts.run(fileOf(id), { ...run }, body, signal);
  }

  return {
    limits,
    exchange,
    async query(id, statements: StatementInput[], { script = false, signal } = {}) {
      const answer = await exchange(
        id,
        { format: "ROWS_AND_COLUMNS", script },
        Buffer.from(JSON.stringify(statements)),
        signal,
      );
      return parseResponse(answer);
    },
    async script(id, statements, { format, signal }) {
      const answer = await exchange(
        id,
        { format, script: true, binds: true },
        Buffer.from(JSON.stringify(statements)),
        signal,
      );
      // Every successful result ends with its `meta`, a failure with its message, so successful responses need not be
      // parsed.
      if (answer.toString("latin1", answer.length - 3) !== "}}]") parseResponse(answer);
      return answer;
    },
    import: (id, { open, size, mark }, { ready, signal } = {}) =>
      hosts.runExclusively(
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
    replace: (id, file) => hosts.runExclusively(fileOf(id), () => copyDatabaseFile(file, fileOf(id))),
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
      hosts.runExclusively(
        fileOf(id),
        async () => void (await Promise.all(filesOf(id).map((file) => rm(file, { force: true })))),
      ),
    close() {
      closing.abort(d1Errors.closed());
      return hosts.close();
    },
  };
}

/** Throws d1Errors.sql for a response that is a failure or contains one. */
function parseResponse(answer: Buffer): D1QueryResult[] {
  const parsed = JSON.parse(answer.toString()) as { error?: string } | ({ error?: string } & D1QueryResult)[];
  const failure = Array.isArray(parsed) ? parsed.find(({ error }) => error !== undefined) : parsed;
  if (failure) throw d1Errors.sql({ text: failure.error });
  return parsed as D1QueryResult[];
}
