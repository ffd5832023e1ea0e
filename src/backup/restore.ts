import { createHash } from "node:crypto";
import { readdir, readFile, rename, rm, stat, statfs } from "node:fs/promises";
import { dirname, join, normalize, resolve } from "node:path";
import { messageOf, UserError } from "../kernel/index.ts";
import { formatSize } from "../kernel/text.ts";
import { loadRows, openPostgres, openRowSnapshot, openSqlite, type Db, type Migration } from "../store/index.ts";
import { isInBucket, type DataLocation } from "./create.ts";
import { readIdentities, type Decryption } from "./encryption.ts";
import { backupErrors } from "./errors.ts";
import {
  forEachParallel,
  makeFolder,
  digestStream,
  withDigest,
  readFileStream,
  syncFolder,
  writeDurable,
  writeSynced,
} from "./files.ts";
import { openBackupFolder, type BackupFolder } from "./folder.ts";
import type { BackupFile, BackupManifest } from "./manifest.ts";
import { readRowFile, tableOf } from "./rows.ts";
import { canDecrypt, readKeyFile, readSecretsKey, type SecretsSettings } from "./secrets-key.ts";
import { removeSqlite } from "./sqlite-files.ts";

interface RestoreOptions extends DataLocation {
  /** The backup folder. */
  folder: string;
  /** Default: the newest backup. */
  id?: string | undefined;
  identityFile?: string | undefined;
  /** The settings of the key that encrypts secrets. The configured key takes precedence over the one in the backup. */
  secrets: SecretsSettings;
  /** A key file to use instead. It is copied to the data directory unless a key is configured. */
  secretsKeyFile?: string | undefined;
  keyMark: KeyMark;
  migrations: readonly Migration[];
  /** Checks everything that a restore needs, and writes nothing. */
  dryRun: boolean;
  onProgress?: (progress: { step: "files" | "rows"; files: number; bytes: number }) => void;
}

/** The row by which the server recognizes its secrets key: its value is encrypted for the context `name`. */
interface KeyMark {
  table: string;
  name: string;
}

export interface RestoreResult {
  manifest: BackupManifest;
  files: number;
  bytes: number;
  rows: number;
  /** Where the secrets key comes from. */
  secretsKey: "backup" | "configuration";
  /** Free bytes on the disk of the data directory; only for a dry run. */
  freeBytes?: number;
}

/** While this file exists in a data directory, its restore is incomplete. */
export const RESTORE_MARK = "restore-incomplete.json";

const MAX_CONCURRENCY = 4;
const DATABASE = "reelpost.sqlite";
const KEY_FILE = "secrets.key";
/** A server has data if one of these exists; other files in the data directory may be settings. */
const DATA_NAMES = [DATABASE, "d1", "durable-objects", "mail", "tls"];

/**
 * Restores a backup into an empty data directory and, if `databaseUrl` is set, an empty PostgreSQL database. Repeat an
 * interrupted restore with the same options. The caller holds the lock of the data directory. Throws BackupError and
 * StoreError.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreResult> {
  const { dataDirectory, databaseUrl, identityFile, dryRun } = options;
  const decryption = identityFile === undefined ? undefined : await readIdentities(identityFile);
  const folder = await openBackupFolder(options.folder);
  try {
    const manifest = await folder.find(options.id);
    checkObjectsPlace(options, manifest);
    const source: Source = { folder, manifest, decryption };
    const files = await readFiles(source);
    const key = await chooseKey(source, files, options);
    const isRepeated = await checkTarget(options, manifest);
    const result = {
      manifest,
      files: manifest.files,
      bytes: manifest.bytes,
      rows: manifest.rows,
      secretsKey: key.from,
    };
    const freeBytes = await freeSpace(dataDirectory);
    if (!isRepeated && freeBytes < manifest.bytes)
      throw backupErrors.tooLittleSpace({
        id: manifest.id,
        needed: formatSize(manifest.bytes),
        directory: dataDirectory,
        free: formatSize(freeBytes),
      });
    if (dryRun) {
      if (databaseUrl !== undefined) await checkDatabase(databaseUrl);
      for (const file of files) if (!(await isPresent(folder, file))) throw missingContent(manifest, file);
      return { ...result, freeBytes };
    }
    await makeFolder(dataDirectory);
    const mark = join(dataDirectory, RESTORE_MARK);
    await writeDurable(mark, Buffer.from(`${JSON.stringify({ backup: manifest.id, folder: folder.path })}\n`));
    try {
      await writeFiles(source, files, options);
      await restoreRows(source, files, options);
      if (key.isNew) await writeDurable(join(dataDirectory, KEY_FILE), Buffer.from(key.text));
      await rm(mark);
      await syncFolder(dataDirectory);
    } catch (err) {
      if (err instanceof UserError) throw err;
      throw backupErrors.restoreFailed({ directory: dataDirectory, reason: messageOf(err) }, { cause: err });
    }
    return result;
  } finally {
    folder.close();
  }
}

interface Source {
  folder: BackupFolder;
  manifest: BackupManifest;
  decryption: Decryption | undefined;
}

const ALLOWED = /^(?:rows\/|objects\/|d1\/|durable-objects\/|tls\/|mail\/|secrets\.key$)/;

async function readFiles({ folder, manifest, decryption }: Source): Promise<BackupFile[]> {
  const files: BackupFile[] = [];
  for await (const file of folder.files(manifest, decryption)) {
    if (!ALLOWED.test(file.path) || normalize(file.path) !== file.path)
      throw backupErrors.damaged({ id: manifest.id, reason: `it contains a file with the path ${file.path}` });
    files.push(file);
  }
  if (files.length !== manifest.files)
    throw backupErrors.damaged({ id: manifest.id, reason: `it lists ${files.length} of ${manifest.files} files` });
  return files;
}

/** Reads a small file and compares it with its hash. */
async function bytesOf({ folder, manifest, decryption }: Source, file: BackupFile): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of folder.read(manifest, file.content, decryption)) chunks.push(chunk);
  } catch (err) {
    throw err instanceof UserError
      ? err
      : backupErrors.damaged(
          { id: manifest.id, reason: `cannot read ${file.path}: ${messageOf(err)}` },
          { cause: err },
        );
  }
  const bytes = Buffer.concat(chunks);
  if (createHash("sha256").update(bytes).digest("hex") !== file.sha256) throw changed(manifest, file);
  return bytes;
}

const changed = ({ id }: BackupManifest, { path }: BackupFile) =>
  backupErrors.damaged({ id, reason: `the bytes of ${path} were changed` });
const missingContent = ({ id }: BackupManifest, { path }: BackupFile) =>
  backupErrors.damaged({ id, reason: `the content of ${path} is missing` });

const isPresent = (folder: BackupFolder, { content }: BackupFile) =>
  stat(folder.pathOf(content)).then(
    (found) => found.isFile(),
    () => false,
  );

async function chooseKey(source: Source, files: readonly BackupFile[], options: RestoreOptions) {
  const { dataDirectory, secrets, secretsKeyFile, keyMark } = options;
  const secretsKey =
    secretsKeyFile === undefined ? readSecretsKey(dataDirectory, secrets) : readKeyFile(secretsKeyFile);
  const { manifest } = source;
  const stored = files.find(({ path }) => path === KEY_FILE);
  if (secretsKey === undefined && stored === undefined) throw backupErrors.keyNeeded({ id: manifest.id });
  const key = secretsKey ?? { text: (await bytesOf(source, stored!)).toString(), source: "the backup" };
  for (const file of files.filter(({ path }) => path.startsWith(`rows/${keyMark.table}/`))) {
    const { columns, rows } = await readRowFile(once(await bytesOf(source, file)));
    for await (const row of rows) {
      if (row[columns.indexOf("name")] !== keyMark.name) continue;
      if (!canDecrypt(key, String(row[columns.indexOf("value")]), keyMark.name))
        throw backupErrors.wrongKey({ id: manifest.id, source: key.source });
    }
  }
  const isConfigured = secrets.key !== "" || secrets.key_file !== "";
  return {
    text: key.text,
    from: secretsKey === undefined ? ("backup" as const) : ("configuration" as const),
    isNew: secretsKey === undefined || (secretsKeyFile !== undefined && !isConfigured),
  };
}

async function* once(bytes: Uint8Array) {
  yield bytes;
}

/** The objects of the backup must be where the server looks for them. */
function checkObjectsPlace(options: RestoreOptions, { id, objects_url: url }: BackupManifest): void {
  if (url !== undefined && !isInBucket(options)) throw backupErrors.bucketNeeded({ id, url });
  if (url === undefined && isInBucket(options)) throw backupErrors.folderNeeded({ id, url: options.objects });
}

/** Resolves with true if this resumes an interrupted restore of the same backup. */
async function checkTarget(options: RestoreOptions, { id }: BackupManifest): Promise<boolean> {
  const { dataDirectory, objects } = options;
  const mark = await readFile(join(dataDirectory, RESTORE_MARK), "utf8").catch(() => undefined);
  if (mark !== undefined && mark.includes(`"${id}"`)) return true;
  const folders = isInBucket(options) ? [] : [objects];
  for (const path of [...DATA_NAMES.map((name) => join(dataDirectory, name)), ...folders]) {
    const names = await readdir(path).catch((err: NodeJS.ErrnoException) => {
      if (err.code === "ENOENT") return [];
      if (err.code === "ENOTDIR") return [""];
      throw backupErrors.notReadable({ path, reason: messageOf(err) }, { cause: err });
    });
    if (names.length > 0) throw backupErrors.targetNotEmpty({ directory: dataDirectory, name: path });
  }
  return false;
}

async function freeSpace(directory: string): Promise<number> {
  for (let path = resolve(directory); ; path = dirname(path)) {
    const found = await statfs(path).catch(() => undefined);
    if (found !== undefined) return found.bavail * found.bsize;
    if (path === dirname(path)) return Infinity;
  }
}

/** Throws StoreError unreachable, or BackupError targetNotEmpty. */
async function checkDatabase(url: string): Promise<void> {
  const snapshot = await openRowSnapshot({ url });
  try {
    for (const table of snapshot.tables)
      for await (const _ of snapshot.rows(table))
        throw backupErrors.targetNotEmpty({ directory: "the database", name: `rows in the table ${table.name}` });
  } finally {
    await snapshot.close();
  }
}

async function writeFiles(source: Source, files: readonly BackupFile[], options: RestoreOptions): Promise<void> {
  const { folder, manifest, decryption } = source;
  const folders = new Set<string>();
  let progress = { files: 0, bytes: 0 };
  const targets = files.filter(({ path }) => !path.startsWith("rows/") && path !== KEY_FILE);
  await forEachParallel(targets, MAX_CONCURRENCY, async (file) => {
    const path = file.path.startsWith("objects/")
      ? join(options.objects, file.path.slice("objects/".length))
      : join(options.dataDirectory, file.path);
    await makeFolder(dirname(path));
    for (let parent = dirname(path); !folders.has(parent) && parent !== dirname(parent); parent = dirname(parent)) {
      folders.add(parent);
      if (parent === options.objects || parent === options.dataDirectory) break;
    }
    progress = { files: progress.files + 1, bytes: progress.bytes + file.size };
    options.onProgress?.({ step: "files", ...progress });
    if (await isRestored(path, file)) return;
    const temp = `${path}.restoring`;
    await rm(temp, { force: true });
    let sha256 = "";
    try {
      await writeSynced(
        temp,
        withDigest(folder.read(manifest, file.content, decryption), (found) => (sha256 = found.sha256)),
      );
    } catch (err) {
      await rm(temp, { force: true });
      if (err instanceof UserError) throw err;
      throw backupErrors.damaged(
        { id: manifest.id, reason: `cannot read ${file.path}: ${messageOf(err)}` },
        { cause: err },
      );
    }
    if (sha256 !== file.sha256) {
      await rm(temp, { force: true });
      throw changed(manifest, file);
    }
    await rename(temp, path);
  });
  for (const each of folders) await syncFolder(each);
}

async function isRestored(path: string, { size, sha256 }: BackupFile): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.size === size && (await digestStream(readFileStream(path))).sha256 === sha256;
}

async function restoreRows(source: Source, files: readonly BackupFile[], options: RestoreOptions): Promise<void> {
  const { dataDirectory, databaseUrl, migrations, onProgress } = options;
  const path = join(dataDirectory, DATABASE);
  if (databaseUrl === undefined) await removeSqlite(path);
  const db: Db = databaseUrl === undefined ? openSqlite({ path }) : await openPostgres({ url: databaseUrl });
  const rowFiles = files.filter(({ path }) => path.startsWith("rows/"));
  try {
    const rows = await loadRows(db, migrations, {
      applied: source.manifest.migrations,
      async *tables() {
        for (const [at, file] of rowFiles.entries()) {
          onProgress?.({ step: "rows", files: at, bytes: 0 });
          const { columns, rows } = await readRowFile(once(await bytesOf(source, file)));
          yield { name: tableOf(file.path), columns, rows };
        }
      },
    });
    if (rows !== source.manifest.rows)
      throw backupErrors.damaged({
        id: source.manifest.id,
        reason: `it has ${rows} of ${source.manifest.rows} rows`,
      });
  } finally {
    await db.close();
  }
}
