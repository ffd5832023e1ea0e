import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { messageOf } from "../../kernel/index.ts";
import { storeErrors } from "../errors.ts";
import { DATA_TABLES } from "./data-tables.ts";

const TRIGGER = "reelpost_moved";
/** Start of SQLite's error message, which the new location follows. */
const MESSAGE = "reelpost-moved: ";
const LOCK_TIMEOUT_MS = 30_000;

/**
 * Makes a SQLite database read-only for every process, until unfreezeSqlite(): writes fail with StoreError moved, which
 * names `target`, and reads continue. A snapshot that is opened afterwards contains every acknowledged write.
 * Idempotent. Throws StoreError cannotOpen.
 */
export function freezeSqlite(path: string, target: string): void {
  const message = `'${(MESSAGE + target).replaceAll("'", "''")}'`;
  changeTriggers(path, (tables) =>
    tables.flatMap((table, at) =>
      ["insert", "update", "delete"].map(
        (action) =>
          `create trigger ${TRIGGER}_${action}_${at} before ${action} on ${quoted(table)} begin select raise(abort, ${message}); end`,
      ),
    ),
  );
}

/** Undoes freezeSqlite. */
export function unfreezeSqlite(path: string): void {
  changeTriggers(path, () => []);
}

/** Returns the target of freezeSqlite if SQLite rejected a write because of it. */
export function freezeTargetOf(thrown: Error): string | undefined {
  return thrown.message.startsWith(MESSAGE) ? thrown.message.slice(MESSAGE.length) : undefined;
}

function changeTriggers(path: string, statementsFor: (tables: string[]) => string[]) {
  const url = pathToFileURL(path);
  // Without this mode, SQLite creates the file if it does not exist.
  url.searchParams.set("mode", "rw");
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(url, { timeout: LOCK_TIMEOUT_MS });
    const names = (sql: string) =>
      db!
        .prepare(sql)
        .all()
        .map((row) => String(row["name"]));
    db.exec("pragma synchronous = full; begin immediate");
    for (const name of names(`select name from sqlite_master where type = 'trigger' and name like '${TRIGGER}%'`))
      db.exec(`drop trigger ${quoted(name)}`);
    const tables = names(DATA_TABLES);
    for (const statement of statementsFor(tables)) db.exec(statement);
    db.exec("commit");
  } catch (err) {
    throw storeErrors.cannotOpen({ path, reason: messageOf(err) }, { cause: err });
  } finally {
    db?.close();
  }
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;
