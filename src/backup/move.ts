import { createHash } from "node:crypto";
import { appendFile, mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { silentLog, systemClock } from "../kernel/index.ts";
import {
  freezeSqlite,
  isStoreError,
  loadRows,
  openObjectsAt,
  openPostgres,
  openRowSnapshot,
  openSqlite,
  unfreezeSqlite,
  type Migration,
  type ObjectStore,
  type RowSnapshot,
} from "../store/index.ts";
import { backupErrors } from "./errors.ts";
import { forEachParallel, linesOf, digestStream, readFileStream } from "./files.ts";
import { findSqliteFiles } from "./sqlite-files.ts";

interface MoveOptions {
  dataDirectory: string;
  /** The objects of the server: a folder, an `s3://` URL, or another store. */
  objects: string | ObjectStore;
  /** The new location of the rows. */
  database?: { url: string; label: string } | undefined;
  /** The new location of the objects: a folder, an `s3://` URL, or another store. */
  target?: string | ObjectStore | undefined;
  migrations: readonly Migration[];
  /** Only copies objects, while the server continues to write. */
  prepareOnly: boolean;
  onProgress?: (progress: MoveProgress) => void;
}

interface MoveProgress {
  step: "objects" | "rows" | "verification";
  count: number;
  bytes: number;
}

interface Moved {
  /** Objects in the new location that are identical to those of the server. */
  objects: { count: number; bytes: number; copied: number };
  /** Undefined if the rows stay where they are, or the move is only prepared. */
  rows: number | undefined;
}

const DATABASE = "reelpost.sqlite";
const JOURNAL = join("move", "objects.jsonl");
const PARALLEL = 4;

/**
 * Moves the rows of a SQLite server to PostgreSQL, and its objects to another store. After an interruption, call it
 * again to resume. The server may be running. At first it reads and writes as before, while most objects are copied.
 * Then the SQLite database becomes read-only, so that every acknowledged write is copied with the rest; reads continue.
 * It stays read-only, because a later write would be missing in the new location.
 *
 * Throws StoreError, and BackupError noData, durableObjectsStay, moveDiffers.
 */
export async function moveData(options: MoveOptions): Promise<Moved> {
  const { dataDirectory, database, prepareOnly } = options;
  const path = join(dataDirectory, DATABASE);
  await stat(path).catch((err: unknown) => {
    throw backupErrors.noData({ directory: dataDirectory, file: path }, { cause: err });
  });
  if (database !== undefined) {
    const count = (await findSqliteFiles(join(dataDirectory, "durable-objects"))).length;
    if (count > 0) throw backupErrors.durableObjectsStay({ count });
  }
  const db = openSqlite({ path });
  const deps = { directory: dataDirectory, db, clock: systemClock, log: silentLog };
  const opened = await Promise.all(
    [options.objects, options.target].map(async (place) =>
      typeof place === "string" ? await openObjectsAt(place, deps) : { objects: place, close: () => {} },
    ),
  ).catch(async (err: unknown) => {
    await db.close();
    throw err;
  });
  const [source, target] = opened.map(({ objects }) => objects);
  try {
    const journal = await openJournal(dataDirectory);
    const copyAll = async () =>
      target === undefined ? { count: 0, bytes: 0, copied: 0 } : await copyObjects(source!, target, journal, options);
    const first = await copyAll();
    if (prepareOnly) return { objects: first, rows: undefined };
    freezeSqlite(path, database?.label ?? "another object store");
    const objects = await copyAll();
    const rows = database === undefined ? undefined : await copyRows(path, database.url, options);
    return { objects: { ...objects, copied: first.copied + objects.copied }, rows };
  } finally {
    for (const { close } of opened) close();
    await db.close();
  }
}

/** Cancels a move: makes the server writable again. Writes to the new location are not copied back. */
export function cancelMove(dataDirectory: string): void {
  unfreezeSqlite(join(dataDirectory, DATABASE));
}

interface CopiedObject {
  key: string;
  size: number;
  modifiedMs: number;
}

interface Journal {
  entries: Map<string, CopiedObject>;
  add(object: CopiedObject): Promise<void>;
}

/** Opens the list of objects that were copied and compared, one per line. A line truncated by a crash is ignored. */
async function openJournal(dataDirectory: string): Promise<Journal> {
  const file = join(dataDirectory, JOURNAL);
  await mkdir(join(file, ".."), { recursive: true, mode: 0o700 });
  const entries = new Map<string, CopiedObject>();
  const exists = await readFile(file).then(
    () => true,
    () => false,
  );
  if (exists) {
    for await (const line of linesOf(readFileStream(file))) {
      try {
        const object = JSON.parse(line) as CopiedObject;
        entries.set(object.key, object);
      } catch {
        // The object is copied again.
      }
    }
    await appendFile(file, "\n");
  }
  return {
    entries,
    async add(object) {
      entries.set(object.key, object);
      await appendFile(file, `${JSON.stringify(object)}\n`);
    },
  };
}

async function copyObjects(
  source: ObjectStore,
  target: ObjectStore,
  journal: Journal,
  { onProgress }: Pick<MoveOptions, "onProgress">,
): Promise<Moved["objects"]> {
  const present = new Map<string, number>();
  for await (const { key, size } of target.list("")) present.set(key, size);
  const wanted = new Set<string>();
  const totals = { count: 0, bytes: 0, copied: 0 };
  await forEachParallel(source.list(""), PARALLEL, async ({ key, size, modified }) => {
    wanted.add(key);
    const known = journal.entries.get(key);
    const isCopied = known?.size === size && known.modifiedMs === modified.getTime() && present.get(key) === size;
    if (!isCopied) {
      if (!(await copyObject(source, target, key))) return void wanted.delete(key);
      await journal.add({ key, size, modifiedMs: modified.getTime() });
      totals.copied++;
    }
    totals.count++;
    totals.bytes += size;
    onProgress?.({ step: "objects", count: totals.count, bytes: totals.bytes });
  });
  // The server has deleted these objects since an earlier call. Objects that this move did not copy are kept.
  const deleted = [...present.keys()].filter((key) => !wanted.has(key) && journal.entries.has(key));
  if (deleted.length > 0) await target.delete(deleted);
  return totals;
}

/** Resolves with false if the object was deleted in the meantime. */
async function copyObject(source: ObjectStore, target: ObjectStore, key: string): Promise<boolean> {
  const opened = await source.open(key);
  if (opened === undefined) return false;
  const { sha256 } = await target.put(key, opened.read());
  const written = await target.open(key);
  const found = written === undefined ? undefined : await digestStream(written.read());
  if (found?.sha256 !== sha256 || found.size !== opened.size) throw backupErrors.moveDiffers({ what: `object ${key}` });
  return true;
}

/** Rows and their hash for each table. The hash does not depend on the order, which differs between the databases. */
type Contents = Map<string, { rows: number; hash: bigint }>;

async function copyRows(path: string, url: string, { migrations, onProgress }: MoveOptions): Promise<number> {
  const source = await openRowSnapshot({ path });
  try {
    const expected = await contentsOf(source);
    const db = await openPostgres({ url, connections: 2 });
    try {
      let count = 0;
      await loadRows(db, migrations, {
        applied: source.migrations,
        async *tables() {
          for (const table of source.tables) {
            onProgress?.({ step: "rows", count, bytes: 0 });
            yield { ...table, rows: source.rows(table) };
            count += expected.get(table.name)!.rows;
          }
        },
      });
    } catch (err) {
      // An earlier call may have copied all rows; they are compared below.
      if (!isStoreError(err, "databaseNotEmpty")) throw err;
    } finally {
      await db.close();
    }
    const target = await openRowSnapshot({ url });
    try {
      onProgress?.({ step: "verification", count: 0, bytes: 0 });
      const found = await contentsOf(target, source);
      for (const [name, { rows, hash }] of expected) {
        const same = found.get(name);
        if (same?.rows !== rows || same.hash !== hash)
          throw backupErrors.moveDiffers({ what: `table ${name} (${same?.rows ?? 0} of ${rows} rows)` });
      }
    } finally {
      await target.close();
    }
    return [...expected.values()].reduce((sum, { rows }) => sum + rows, 0);
  } finally {
    await source.close();
  }
}

/** Includes only the tables and columns of `like`: newer migrations may have added others. */
async function contentsOf(snapshot: RowSnapshot, like: RowSnapshot = snapshot): Promise<Contents> {
  const contents: Contents = new Map();
  for (const table of like.tables) {
    let rows = 0;
    let hash = 0n;
    for await (const row of snapshot.rows(table)) {
      rows++;
      const digest = createHash("sha256").update(JSON.stringify(row)).digest("hex");
      hash = BigInt.asUintN(256, hash + BigInt(`0x${digest}`));
    }
    contents.set(table.name, { rows, hash });
  }
  return contents;
}
