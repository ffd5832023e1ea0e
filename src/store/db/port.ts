import type { Kysely } from "kysely";

/**
 * The database, seen by a domain as the tables it owns: `db.tables<KvTables>()`.
 * SQL is written only in store/ and in a domain's `*-table.ts`, in the subset both engines share
 * (TEXT, INTEGER, BIGINT, BLOB/BYTEA; JSON as TEXT; epoch milliseconds; RETURNING; ON CONFLICT; partial indexes).
 */
export interface Db {
  readonly dialect: "sqlite" | "postgres";
  tables<Tables>(): Kysely<Tables>;
  /** All or nothing. A resolved promise means the commit is on the disk (fsync), whatever happens to the process next. */
  transaction<Tables, Result>(work: (tx: Kysely<Tables>) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Each domain exports its migrations; server/compose.ts lists them; they run once each, in order, at start. */
export interface Migration {
  /** Unique and never renamed: `workers-001-kv`. */
  name: string;
  // The one place where a schema is not typed: a migration runs on whatever its forerunners left.
  // oxlint-disable-next-line no-explicit-any
  up(db: Kysely<any>, types: ColumnTypes): Promise<void>;
}

/** The column types that the engines spell differently. */
export interface ColumnTypes {
  /** A byte string. */
  bytes: "blob" | "bytea";
  /** Text that sorts and compares by its bytes on both engines (`collate "C"` on PostgreSQL). */
  keyText: string;
}
