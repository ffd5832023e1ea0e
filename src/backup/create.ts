import { createHash } from "node:crypto";
import { appendFileSync, createReadStream } from "node:fs";
import { mkdir, open, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { messageOf, type Clock } from "../kernel/index.ts";
import { holdObjects, openRowSnapshot, type DatabaseAddress, type ObjectHold } from "../store/index.ts";
import { createEncryption } from "./encryption.ts";
import { backupErrors } from "./errors.ts";
import { forEachParallel, linesOf, readFileStream } from "./files.ts";
import { openForWriting, type WritableFolder } from "./folder.ts";
import { FORMAT, sealManifest, type BackupFile, type BackupManifest, type StoredContent } from "./manifest.ts";
import { rowFiles } from "./rows.ts";
import { nameKeyOf, readSecretsKey, type SecretsSettings } from "./secrets-key.ts";
import { copySqlite, findSqliteFiles, removeSqlite } from "./sqlite-files.ts";

/** Where a server stores its data. */
export interface DataLocation {
  dataDirectory: string;
  /** The objects folder, as an absolute path, or the `s3://` URL of a bucket. */
  objects: string;
  /** Undefined: SQLite in the data directory. */
  databaseUrl?: string | undefined;
}

/** Whether the objects are in a bucket, which backups do not contain. */
export const isInBucket = ({ objects }: Pick<DataLocation, "objects">): boolean => objects.startsWith("s3:");

interface CreateOptions extends DataLocation {
  /** The backup folder. */
  folder: string;
  recipients: readonly string[];
  /** The settings of the key that encrypts secrets. */
  secrets: SecretsSettings;
  /** Include the secrets key in an unencrypted backup. An encrypted one always contains it. */
  withSecretsKey?: boolean;
  /** Delete all but this number of backups at the end; undefined keeps all. */
  keep?: number | undefined;
  version: string;
  clock: Pick<Clock, "now">;
  onProgress?: (progress: BackupProgress) => void;
}

export interface BackupProgress {
  step: "databases" | "rows" | "objects" | "files" | "retention";
  /** Number of files processed so far, in all steps. */
  files: number;
  bytes: number;
}

export interface CreatedBackup {
  manifest: BackupManifest;
  removed: string[];
  freedBytes: number;
}

const MAX_CONCURRENCY = 4;
/** Other files of the data directory that a server needs. */
const OTHER_FILES = ["tls", "mail", "d1/.home"];
const LIST_BYTES = 4 * 1024 * 1024;

/**
 * Backs up the data of a server that may be running, without the objects in a bucket. Throws BackupError and StoreError; an interrupted backup is never
 * listed.
 */
export async function createBackup(options: CreateOptions): Promise<CreatedBackup> {
  const { dataDirectory, objects, databaseUrl, clock, recipients, version } = options;
  const path = resolve(options.folder);
  const folders = isInBucket(options) ? [] : [objects];
  for (const data of [dataDirectory, ...folders])
    if (!relative(resolve(data), path).startsWith("..")) throw backupErrors.insideData({ folder: path, data });
  const address: DatabaseAddress =
    databaseUrl === undefined ? { path: join(dataDirectory, "reelpost.sqlite") } : { url: databaseUrl };
  for (const file of [...("path" in address ? [address.path] : []), ...folders])
    await stat(file).catch((err: unknown) => {
      throw backupErrors.noData({ directory: dataDirectory, file }, { cause: err });
    });
  const encryption = await createEncryption(recipients);
  const secretsKey = readSecretsKey(dataDirectory, options.secrets);
  const isKeyIncluded = secretsKey !== undefined && (encryption !== undefined || options.withSecretsKey === true);
  const folder = await openForWriting(path, { encryption, nameKey: nameKeyOf(secretsKey) });
  const scratch = join(dataDirectory, "backup");
  try {
    await mkdir(scratch, { recursive: true, mode: 0o700 });
    const run = await createRun(options, folder, scratch);
    const startedAt = clock.now();
    const id = await nextId(folder, startedAt);
    // D1 and Durable Objects first: a database is created before its row is, so each row has its database.
    await run.copyDatabases();
    const hold = isInBucket(options) ? undefined : holdObjects(objects);
    let rows = 0;
    let snapshotFacts: Pick<BackupManifest, "database" | "migrations">;
    try {
      // An object is stored before the row that refers to it, and the hold keeps the objects that are deleted from now
      // on.
      const snapshot = await openRowSnapshot(address);
      snapshotFacts = { database: snapshot.dialect, migrations: snapshot.migrations };
      try {
        for await (const file of rowFiles(snapshot)) {
          rows += file.rows;
          await run.add("rows", file.path, once(file.lines));
        }
      } finally {
        await snapshot.close();
      }
      if (hold !== undefined) {
        await run.copyObjects(hold);
        hold.check();
      }
    } finally {
      await hold?.close();
    }
    // Databases that were created after the first round.
    await run.copyDatabases();
    await run.copyOthers();
    if (isKeyIncluded) await run.add("files", "secrets.key", once(Buffer.from(secretsKey!.text)));
    const { files, contents, lists, bytes, added, warnings } = await run.finish();
    const manifest = await folder.complete(
      (contentsSha256) =>
        sealManifest({
          format: FORMAT,
          id,
          started_on: new Date(startedAt).toISOString(),
          finished_on: new Date(clock.now()).toISOString(),
          version,
          ...snapshotFacts,
          recipients: [...(encryption?.recipients ?? [])],
          secrets_key: isKeyIncluded ? "included" : "separate",
          ...(isInBucket(options) && { objects_url: objects }),
          files,
          bytes,
          rows,
          added_files: added.files,
          added_bytes: added.bytes,
          warnings,
          lists,
          contents_sha256: contentsSha256,
        }),
      contents,
    );
    await run.keepCache();
    run.report("retention");
    const pruned = options.keep === undefined ? { removed: [], freedBytes: 0 } : await folder.prune(options.keep);
    return { manifest, ...pruned };
  } finally {
    await removeSqlite(join(scratch, "copy.sqlite"));
    folder.close();
  }
}

async function* once(bytes: Uint8Array) {
  yield bytes;
}

/** Two backups in one second get different ids. */
async function nextId(folder: WritableFolder, now: number): Promise<string> {
  const { manifests, unusable } = await folder.list();
  const taken = new Set([...manifests, ...unusable].map(({ id }) => id));
  for (let at = now; ; at += 1000) {
    const id = new Date(at).toISOString().replace(/[-:]|\.\d+/g, "");
    if (!taken.has(id)) return id;
  }
}

interface CachedFile {
  name: string;
  size: number;
  modifiedMs: number;
  sha256: string;
  stored: StoredContent;
}

async function createRun(
  { dataDirectory, recipients, onProgress }: CreateOptions,
  folder: WritableFolder,
  scratch: string,
) {
  const contents = new Map<string, StoredContent>();
  const added = { files: 0, bytes: 0 };
  const warnings: string[] = [];
  const lists: string[] = [];
  const databases = new Set<string>();
  let totals = { files: 0, bytes: 0 };
  let lines: string[] = [];
  let lineBytes = 0;
  const cache = await openCache(scratch, folder, recipients);

  const report = (step: BackupProgress["step"]) => onProgress?.({ step, ...totals });

  async function add(step: BackupProgress["step"], path: string, bytes: AsyncIterable<Uint8Array>) {
    const { original, stored, isNew } = await folder.store(bytes);
    if (isNew) {
      added.files++;
      added.bytes += stored.size;
    }
    await list(step, { path, ...original, content: stored.name }, stored);
    return { original, stored };
  }

  async function list(step: BackupProgress["step"], file: BackupFile, stored: StoredContent) {
    contents.set(stored.name, stored);
    totals = { files: totals.files + 1, bytes: totals.bytes + file.size };
    report(step);
    const line = JSON.stringify(file);
    lines.push(line);
    lineBytes += line.length;
    if (lineBytes > LIST_BYTES) await storeList();
  }

  async function storeList() {
    const text = lines.map((line) => `${line}\n`).join("");
    lines = [];
    lineBytes = 0;
    const { stored } = await folder.store(once(Buffer.from(text)));
    contents.set(stored.name, stored);
    lists.push(stored.name);
  }

  async function copyDatabases() {
    for (const area of ["d1", "durable-objects"]) {
      for (const name of await findSqliteFiles(join(dataDirectory, area))) {
        const path = `${area}/${name}`;
        if (databases.has(path)) continue;
        const copy = join(scratch, "copy.sqlite");
        const { suffixes, problem } = await copySqlite(join(dataDirectory, path), copy).catch(
          (err: NodeJS.ErrnoException) => {
            // Deleted since the folder was read.
            if (err.code === "ENOENT") return { suffixes: [], problem: undefined };
            if (err.code === "ENOSPC") throw backupErrors.full({ path: copy }, { cause: err });
            throw backupErrors.notReadable({ path: join(dataDirectory, path), reason: messageOf(err) }, { cause: err });
          },
        );
        if (suffixes.length === 0) continue;
        databases.add(path);
        if (problem !== undefined) warnings.push(`${path} is damaged and was copied as it is: ${problem}`);
        for (const suffix of suffixes) await add("databases", path + suffix, readFileStream(copy + suffix));
        await removeSqlite(copy);
      }
    }
  }

  async function copyObjects(hold: ObjectHold) {
    await forEachParallel(hold.list(), MAX_CONCURRENCY, async ({ name, size, modifiedMs }) => {
      const path = `objects/${name}`;
      const cached = cache.find(name, size, modifiedMs);
      // A replaced object has a different modification time.
      if (cached !== undefined && (await folder.has(cached.stored))) {
        await list("objects", { path, size, sha256: cached.sha256, content: cached.stored.name }, cached.stored);
        cache.keep(cached);
        return;
      }
      const opened = await openHeld(hold, name);
      // The object was created and deleted after the backup started.
      if (opened === undefined) return;
      const { original, stored } = await add("objects", path, opened.bytes);
      if (opened.modifiedMs === modifiedMs && original.size === size)
        cache.keep({ name, size, modifiedMs, sha256: original.sha256, stored });
    });
  }

  async function copyOthers() {
    for (const start of OTHER_FILES) {
      for (const path of await filesBelow(dataDirectory, start)) {
        const bytes = await readFile(join(dataDirectory, path)).catch((err: NodeJS.ErrnoException) => {
          if (err.code === "ENOENT") return undefined;
          throw backupErrors.notReadable({ path: join(dataDirectory, path), reason: messageOf(err) }, { cause: err });
        });
        if (bytes !== undefined) await add("files", path, once(bytes));
      }
    }
  }

  return {
    add,
    report,
    copyDatabases,
    copyObjects,
    copyOthers,
    keepCache: () => cache.save(),
    async finish() {
      await storeList();
      return { files: totals.files, bytes: totals.bytes, contents: contents.values(), lists, added, warnings };
    },
  };
}

/** Opens an object as it was when the hold started. Undefined if it no longer exists. */
async function openHeld(hold: ObjectHold, name: string) {
  for (;;) {
    const path = await hold.pathOf(name);
    const file = await open(path, "r").catch((err: NodeJS.ErrnoException) => {
      if (err.code === "ENOENT" || err.code === "ENOTDIR") return undefined;
      throw backupErrors.notReadable({ path, reason: messageOf(err) }, { cause: err });
    });
    // The object was replaced or deleted between the two calls, so it is held now.
    if ((await hold.pathOf(name)) !== path) {
      await file?.close();
      continue;
    }
    if (file === undefined) return undefined;
    const { size, mtime } = await file.stat();
    // An incomplete object may grow in the meantime.
    const bytes =
      size === 0
        ? closing(file)
        : (createReadStream("", {
            fd: file,
            start: 0,
            end: size - 1,
            highWaterMark: 1024 * 1024,
          }) as AsyncIterable<Uint8Array>);
    return { bytes, modifiedMs: mtime.getTime() };
  }
}

// oxlint-disable-next-line require-yield
async function* closing(file: { close(): Promise<void> }): AsyncGenerator<Uint8Array> {
  await file.close();
}

async function filesBelow(directory: string, start: string): Promise<string[]> {
  const top = join(directory, start);
  const found = await stat(top).catch(() => undefined);
  if (found === undefined) return [];
  if (found.isFile()) return [start];
  const entries = await readdir(top, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}

/**
 * Remembers the content of each object, so that the next backup into the same folder does not read objects that have
 * not changed. Written as the backup proceeds: after a killed backup, the next one reuses what it stored.
 */
async function openCache(scratch: string, folder: WritableFolder, recipients: readonly string[]) {
  const id = createHash("sha256")
    .update(JSON.stringify([folder.id, folder.path, [...recipients].sort()]))
    .digest("hex")
    .slice(0, 32);
  const path = join(scratch, `${id}.cache`);
  const known = new Map<string, CachedFile>();
  const kept = new Map<string, CachedFile>();
  try {
    for await (const line of linesOf(readFileStream(path))) {
      const file = JSON.parse(line) as CachedFile;
      known.set(file.name, file);
    }
  } catch {
    // The file is missing, or its last line is incomplete: the other objects are read again.
  }
  return {
    find(name: string, size: number, modifiedMs: number) {
      const file = known.get(name);
      return file !== undefined && file.size === size && file.modifiedMs === modifiedMs ? file : undefined;
    },
    keep(file: CachedFile) {
      kept.set(file.name, file);
      if (known.get(file.name) === file) return;
      appendFileSync(path, `${JSON.stringify(file)}\n`, { mode: 0o600 });
    },
    async save() {
      const lines = [...kept.values()].map((file) => `${JSON.stringify(file)}\n`);
      await writeFile(path, lines.join(""), { mode: 0o600 });
    },
  };
}
