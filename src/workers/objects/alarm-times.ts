import { copyFileSync, existsSync, lstatSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** workerd stores the alarms of a namespace in this database. */
const METADATA_FILE = "metadata.sqlite";
const NS_PER_MS = 1_000_000n;

/**
 * Returns when the earliest alarm of a namespace is due, in epoch milliseconds. No process may have the directory open.
 * Reads a copy: SQLite would create files next to the original that workerd's user could not open.
 */
export function readNextAlarm(folder: string): number | undefined {
  // The worker's user owns the directory, so symbolic links and pipes are ignored.
  if (!isFile(join(folder, METADATA_FILE))) return undefined;
  const copy = mkdtempSync(join(tmpdir(), "reelpost-alarms-"));
  try {
    for (const name of [METADATA_FILE, `${METADATA_FILE}-wal`])
      if (isFile(join(folder, name))) copyFileSync(join(folder, name), join(copy, name));
    return readEarliest(join(copy, METADATA_FILE));
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const isFile = (path: string) => existsSync(path) && lstatSync(path).isFile();

function readEarliest(file: string): number | undefined {
  const db = new DatabaseSync(file, { defensive: true });
  try {
    // Accepts only a table: a view could contain any query.
    const table = db
      .prepare("select 1 from sqlite_master where type = 'table' and name = '_cf_ALARM' and sql like 'create table%'")
      .get();
    if (table === undefined) return undefined;
    const statement = db.prepare("select min(scheduled_time) as at from _cf_ALARM");
    statement.setReadBigInts(true);
    const { at } = statement.get() as { at: bigint | null };
    return at === null ? undefined : Number(at / NS_PER_MS);
  } finally {
    db.close();
  }
}
