import { Kysely, type Compilable } from "kysely";
import type { Db } from "./port.ts";
import { connectSqlite } from "./sqlite-connection.ts";
import { createSqliteDialect } from "./sqlite-dialect.ts";
import { createWriteQueue } from "./write-queue.ts";

interface SqliteOptions {
  /**
   * The database file; created if missing, in an existing folder. The `-wal` and `-shm` files are stored alongside it.
   */
  path: string;
  /** Other processes of this server use the database too. Default false. */
  isShared?: boolean | undefined;
  /** How long writes wait for an open transaction before they fail with StoreError busy. Default 30 s. */
  waitTimeoutMs?: number;
}

/**
 * Opens the default engine: one file, WAL, an fsync per commit. Throws StoreError if the file cannot be opened or is
 * not a database.
 */
export function openSqlite({ path, isShared = false, waitTimeoutMs }: SqliteOptions): Db {
  const writer = connectSqlite(path);
  const reader = connectSqlite(path, { readOnly: true });
  const writes = createWriteQueue(writer, { patienceMs: waitTimeoutMs });
  // oxlint-disable-next-line no-explicit-any
  const kysely = new Kysely<any>({ dialect: createSqliteDialect({ reader, writer, writes }) });
  let closed: Promise<void> | undefined;

  return {
    dialect: "sqlite",
    isShared,
    tables: () => kysely,
    transaction: <Tables, Result>(work: (tx: Kysely<Tables>) => Promise<Result>) =>
      (kysely as Kysely<Tables>).transaction().execute((tx) => writes.runInTransaction(() => work(tx))),
    write: (query) => writes.writeGrouped(query.compile()),
    // Bypasses Kysely's drivers and connections, which cost more than SQLite's row lookup.
    read: async <Row>(query: Compilable<Row>) => reader.run<Row>(query.compile()).rows,
    withoutTimeLimit: (work) => work(),
    close: () => (closed ??= closeAll()),
  };

  async function closeAll() {
    await writes.close();
    await kysely.destroy();
    reader.close();
    writer.close();
  }
}
