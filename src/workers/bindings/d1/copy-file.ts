import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { PAGE_BYTES } from "./connection.ts";

/**
 * Writes a consistent copy of a SQLite file that another program may be using, without the tables that are reserved for
 * the runtime. Replaces the target completely or not at all; no process may have it open.
 */
export async function copyDatabaseFile(from: string, to: string): Promise<void> {
  const copy = `${to}.copy`;
  try {
    const source = new DatabaseSync(from, { readOnly: true });
    try {
      await backup(source, copy);
    } finally {
      source.close();
    }
    prepareCopy(copy);
    await syncPath(copy);
    await Promise.all(["-wal", "-shm"].map((suffix) => rm(to + suffix, { force: true })));
    await rename(copy, to);
    await syncPath(dirname(to));
  } finally {
    await Promise.all(["", "-wal", "-shm", "-journal"].map((suffix) => rm(copy + suffix, { force: true })));
  }
}

function prepareCopy(file: string): void {
  const db = new DatabaseSync(file);
  try {
    const reservedTables = db
      .prepare("select name from sqlite_master where type = 'table' and lower(substr(name, 1, 4)) = '_cf_'")
      .all();
    for (const { name } of reservedTables) db.exec(`drop table "${String(name).replaceAll('"', '""')}"`);
    // user_version marks the last import, which belongs to the source database.
    db.exec("pragma user_version = 0; pragma journal_mode = delete");
    if (db.prepare("pragma page_size").get()!["page_size"] !== PAGE_BYTES)
      db.exec(`pragma page_size = ${PAGE_BYTES}; vacuum`);
  } finally {
    db.close();
  }
}

async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
