import type { Readable } from "node:stream";
import type { StatementOptions, StatementInput } from "./database.ts";
import type { D1Limits } from "./limits.ts";
import type { ExportOptions } from "./transfers/export-sql.ts";
import type { Imported } from "./transfers/import-sql.ts";

/**
 * The D1 databases of this machine: one SQLite file each, which only one server process opens. A database exists from
 * its first query.
 */
export interface D1Databases {
  /**
   * Runs all statements as one transaction and resolves when it is on disk. With `script`, the SQL of a statement
   * may hold several statements and has a result for each. Rejects with `d1Errors.sql` for SQL errors.
   */
  query(
    id: string,
    statements: D1Statement[],
    options?: { script?: boolean; signal?: AbortSignal },
  ): Promise<D1QueryResult[]>;
  /**
   * A script for the API: SQL text with a single statement may bind values. Resolves with the array of results as JSON,
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

export interface D1QueryResult {
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
