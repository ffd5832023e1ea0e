import type { Compilable, Kysely } from "kysely";

/**
 * The database, as the tables that a domain owns: `db.tables<KvTables>()`. SQL is allowed only in store/ and in
 * `*-table.ts` files, in the subset supported by both engines (TEXT, INTEGER, BIGINT, BLOB/BYTEA; JSON as TEXT; epoch
 * milliseconds; RETURNING; ON CONFLICT; partial indexes). Pitfalls: PostgreSQL rejects U+0000 in text and has 32-bit
 * INTEGER; integers are returned as numbers, bytes as Uint8Array. Disk-full, unreachable and busy are StoreErrors; use
 * `isUniqueViolation(thrown)` for unique violations.
 */
export interface Db {
  readonly dialect: "sqlite" | "postgres";
  /** Other processes may write to the database at any time, so copies in memory may be stale. */
  readonly isShared: boolean;
  tables<Tables>(): Kysely<Tables>;
  /**
   * Atomic and serializable. Resolves after the commit is on disk (fsync). On PostgreSQL, `work` runs again after a
   * serialization conflict, so it must only do database work, through `tx`. Writing through `db` inside `work` throws a
   * Fault.
   */
  transaction<Tables, Result>(work: (tx: Kysely<Tables>) => Promise<Result>): Promise<Result>;
  /**
   * One INSERT, UPDATE or DELETE on the fast path: concurrent writes share one commit and fsync. Each caller gets its
   * own rows (RETURNING) or error; resolves when on disk, like a transaction.
   */
  write<Row>(query: Compilable<Row>): Promise<Written<Row>>;
  /** A SELECT outside transactions on the fast path, for reads on every request. */
  read<Row>(query: Compilable<Row>): Promise<Row[]>;
  /** Runs `work`, such as a migration of a large table, without the time limits of queries. */
  withoutTimeLimit<Result>(work: () => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

export interface Written<Row> {
  /** The RETURNING rows; otherwise empty. */
  rows: Row[];
  /** Rows inserted, updated or deleted. */
  affected: number;
}

/**
 * Each domain exports its migrations; server/migrations.ts lists them; each migration runs once, in order, at start.
 */
export interface Migration {
  /** Unique and never renamed: `workers-001-kv`. */
  name: string;
  /**
   * Older versions of the program that work with the resulting schema. Default `any`, for a migration that only adds
   * tables, indexes, and columns that may be omitted. `{ since }`: versions that include this earlier migration, and
   * no longer use what this one removes. `none`: all processes must be stopped for the upgrade.
   */
  olderVersions?: "any" | "none" | { since: string };
  // The only untyped schema: a migration runs on the schema that its predecessors created.
  // oxlint-disable-next-line no-explicit-any
  up(db: Kysely<any>, types: ColumnTypes): Promise<void>;
}

/** Column types that have different names in the engines. */
export interface ColumnTypes {
  /** A byte string. */
  bytes: "blob" | "bytea";
  /** Text that sorts and compares by bytes on both engines (`collate "C"` on PostgreSQL). */
  keyText: string;
}
