import type { Compilable, Kysely } from "kysely";

/**
 * The database, seen by a domain as the tables it owns: `db.tables<KvTables>()`.
 * SQL is written only in store/ and in a domain's `*-table.ts`, in the subset both engines share
 * (TEXT, INTEGER, BIGINT, BLOB/BYTEA; JSON as TEXT; epoch milliseconds; RETURNING; ON CONFLICT; partial indexes).
 * Traps: PostgreSQL refuses U+0000 in text and has 32-bit INTEGER; integers come back as numbers on both, bytes as Uint8Array.
 * Disk-full, unreachable and busy come as StoreError; a unique violation is recognised with `isUniqueViolation(thrown)`.
 */
export interface Db {
  readonly dialect: "sqlite" | "postgres";
  tables<Tables>(): Kysely<Tables>;
  /**
   * All or nothing. A resolved promise means the commit is on the disk (fsync), whatever happens to the process next.
   * Serialisable: as if transactions ran one after the other. PostgreSQL reaches that by running `work` again when two collide,
   * so `work` does nothing but database work, through `tx`. Inside, use `tx` only: writing through `db` throws a Fault.
   */
  transaction<Tables, Result>(work: (tx: Kysely<Tables>) => Promise<Result>): Promise<Result>;
  /**
   * One INSERT, UPDATE or DELETE, the fast way: writes that wait at the same moment share one commit, and with it one fsync.
   * Every caller gets its own rows (RETURNING) or its own error; resolved means on the disk, as for a transaction.
   */
  write<Row>(query: Compilable<Row>): Promise<Written<Row>>;
  /** A SELECT outside of any transaction, the fast way: for the reads that every request makes. */
  read<Row>(query: Compilable<Row>): Promise<Row[]>;
  close(): Promise<void>;
}

export interface Written<Row> {
  /** What RETURNING asked for; else empty. */
  rows: Row[];
  /** Rows inserted, updated or deleted. */
  affected: number;
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
