import { createHmac, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { messageOf, UserError } from "../kernel/index.ts";
import { WrongIdentity, type Decryption, type Encryption } from "./encryption.ts";
import { backupErrors } from "./errors.ts";
import {
  toWriteError,
  linesOf,
  makeFolder,
  withDigest,
  readFileStream,
  syncFolder,
  writeDurable,
  writeSynced,
  type ContentDigest,
} from "./files.ts";
import { FORMAT, readBackupManifest, type BackupFile, type BackupManifest, type StoredContent } from "./manifest.ts";

const DESCRIPTION = "reelpost-backup.json";
const CONTENTS = "contents";
const BACKUPS = "backups";
const INCOMING = "incoming";
const LOCK = ".lock";
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

/**
 * A folder with backups. `contents/` holds files under names that depend on their bytes, so that backups share equal
 * files; `backups/<id>.json` is the manifest of a complete backup and is written last; `backups/<id>.contents` lists
 * the contents that it needs.
 */
export interface BackupFolder {
  readonly path: string;
  /** Detects that a different folder has been mounted at the same path. */
  readonly id: string;
  /** Complete backups, oldest first. `unusable`: those whose manifest cannot be read. */
  list(): Promise<{ manifests: BackupManifest[]; unusable: { id: string; reason: string }[] }>;
  /**
   * Finds the newest complete backup, or the one with this id. Throws BackupError noBackup, unknownBackup, damaged,
   * newerFormat.
   */
  find(id?: string): Promise<BackupManifest>;
  /** Reads the contents of a backup. Throws BackupError damaged. */
  contentsOf(manifest: BackupManifest): Promise<StoredContent[]>;
  /**
   * Reads and decrypts a content file. Throws BackupError damaged, identityNeeded, wrongIdentity; damaged bytes cause
   * an error during reading.
   */
  read(manifest: BackupManifest, name: string, decryption: Decryption | undefined): AsyncIterable<Uint8Array>;
  /** Returns the files of a backup, in order. */
  files(manifest: BackupManifest, decryption: Decryption | undefined): AsyncIterable<BackupFile>;
  pathOf(name: string): string;
  close(): void;
}

/** A folder to which one process writes. */
export interface WritableFolder extends BackupFolder {
  /** True if `contents/` has a file with this name and size. */
  has(content: StoredContent): Promise<boolean>;
  /** Content files of complete backups, by name. */
  known(): Promise<Map<string, StoredContent>>;
  /** Stores bytes unless they are already present. `isNew`: they were added. The name is durable after `complete`. */
  store(bytes: AsyncIterable<Uint8Array>): Promise<{ original: ContentDigest; stored: StoredContent; isNew: boolean }>;
  /** Makes all contents durable, then the list of contents, then the manifest. */
  complete(
    manifest: (contentsSha256: string) => BackupManifest,
    contents: Iterable<StoredContent>,
  ): Promise<BackupManifest>;
  /**
   * Deletes all but the newest `keep` backups, and contents that no backup needs. Returns the ids of deleted backups.
   */
  prune(keep: number): Promise<{ removed: string[]; freedBytes: number }>;
}

/** Opens an existing folder for reading. Throws BackupError noFolder, folderInUse, newerFormat. */
export async function openBackupFolder(path: string): Promise<BackupFolder> {
  const folder = resolve(path);
  const id = await readDescription(folder);
  if (id === undefined) throw backupErrors.noFolder({ folder });
  // On a read-only disk, no other process can write, so no lock is needed.
  const lock = tryLock(folder, { isOptional: true });
  return createReader(folder, id, () => lock?.close());
}

/**
 * Opens a folder for writing; it is created if it is missing. `nameKey`: a secret of the server, without which the
 * names of encrypted contents would reveal whether the backup contains a known file. Throws BackupError foreignFolder,
 * folderInUse, notWritable, full, newerFormat.
 */
export async function openForWriting(
  path: string,
  { encryption, nameKey }: { encryption: Encryption | undefined; nameKey: string },
): Promise<WritableFolder> {
  const folder = resolve(path);
  await makeFolder(folder);
  let id = await readDescription(folder);
  if (id === undefined) {
    const others = (await readdir(folder)).filter((name) => !name.startsWith(".") && name !== "lost+found");
    if (others.length > 0) throw backupErrors.foreignFolder({ folder });
  }
  const lock = tryLock(folder, { isOptional: false });
  try {
    for (const name of [CONTENTS, BACKUPS]) await makeFolder(join(folder, name));
    if (id === undefined) {
      id = randomBytes(16).toString("hex");
      await writeDurable(join(folder, DESCRIPTION), Buffer.from(`${JSON.stringify({ format: FORMAT, id })}\n`));
    }
    await removeTemporary(join(folder, BACKUPS));
    await rm(join(folder, CONTENTS, INCOMING), { recursive: true, force: true });
    await makeFolder(join(folder, CONTENTS, INCOMING));
    return createWriter(folder, id, { encryption, nameKey, unlock: () => lock?.close() });
  } catch (err) {
    lock?.close();
    throw err;
  }
}

async function readDescription(folder: string): Promise<string | undefined> {
  let text: string;
  try {
    text = await readFile(join(folder, DESCRIPTION), "utf8");
  } catch (err) {
    if (["ENOENT", "ENOTDIR"].includes((err as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw backupErrors.notReadable({ path: join(folder, DESCRIPTION), reason: messageOf(err) }, { cause: err });
  }
  const { format, id } = parseObject(text);
  if (typeof format === "number" && format > FORMAT) throw backupErrors.newerFormat({ what: folder, format });
  if (typeof id !== "string") throw backupErrors.foreignFolder({ folder });
  return id;
}

function parseObject(text: string): Record<string, unknown> {
  try {
    return (JSON.parse(text) ?? {}) as Record<string, unknown>;
  } catch {
    return {};
  }
}

/** The kernel releases the lock when the process ends, for any reason. Nothing else may open the file. */
function tryLock(folder: string, { isOptional }: { isOptional: boolean }): DatabaseSync | undefined {
  let lock: DatabaseSync | undefined;
  try {
    lock = new DatabaseSync(join(folder, LOCK), { timeout: 0 });
    lock.exec("begin exclusive");
    return lock;
  } catch (err) {
    if (lock?.isOpen) lock.close();
    const code = Number((err as { errcode?: number }).errcode) & 0xff;
    if (code === SQLITE_BUSY) throw backupErrors.folderInUse({ folder }, { cause: err });
    if (isOptional) return undefined;
    if (code === SQLITE_FULL) throw backupErrors.full({ path: folder }, { cause: err });
    throw backupErrors.notWritable({ path: folder, reason: messageOf(err) }, { cause: err });
  }
}

async function removeTemporary(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (name.endsWith(".tmp")) await rm(join(folder, name), { force: true });
}

/** Subfolders by the first two characters: many file systems are slow with a million files in one folder. */
const shelfOf = (name: string) => name.slice(0, 2);

function createReader(folder: string, id: string, close: () => void): BackupFolder {
  const pathOf = (name: string) => join(folder, CONTENTS, shelfOf(name), name);

  async function list() {
    const manifests: BackupManifest[] = [];
    const unusable: { id: string; reason: string }[] = [];
    for (const name of (await readdir(join(folder, BACKUPS))).sort()) {
      if (!name.endsWith(".json")) continue;
      const manifest = readBackupManifest(await readFile(join(folder, BACKUPS, name), "utf8"));
      if ("reason" in manifest) unusable.push({ id: name.slice(0, -".json".length), reason: manifest.reason });
      else manifests.push(manifest);
    }
    return { manifests, unusable };
  }

  async function* read(manifest: BackupManifest, name: string, decryption: Decryption | undefined) {
    const bytes = readFileStream(pathOf(name));
    if (manifest.recipients.length === 0) return yield* bytes;
    if (decryption === undefined) throw backupErrors.identityNeeded({ id: manifest.id });
    try {
      yield* decryption.decrypt(bytes);
    } catch (err) {
      throw err instanceof WrongIdentity
        ? backupErrors.wrongIdentity({ id: manifest.id, recipients: manifest.recipients.join(", ") }, { cause: err })
        : err;
    }
  }

  return {
    path: folder,
    id,
    pathOf,
    close,
    list,
    read,
    async find(wanted) {
      const { manifests, unusable } = await list();
      const damaged = unusable.find((each) => each.id === wanted);
      if (damaged !== undefined) throw backupErrors.damaged(damaged);
      const found = wanted === undefined ? manifests.at(-1) : manifests.find((each) => each.id === wanted);
      if (found !== undefined) return found;
      if (wanted === undefined || manifests.length === 0) throw backupErrors.noBackup({ folder });
      throw backupErrors.unknownBackup({ folder, id: wanted, ids: manifests.map((each) => each.id).join(", ") });
    },
    async contentsOf({ id: backup, contents_sha256: expected }) {
      const fail = (reason: string, cause?: unknown) => backupErrors.damaged({ id: backup, reason }, { cause });
      const contents: StoredContent[] = [];
      let sha256 = "";
      const path = join(folder, BACKUPS, `${backup}.contents`);
      try {
        for await (const line of linesOf(withDigest(readFileStream(path), (found) => (sha256 = found.sha256)))) {
          const [name = "", size = "", hash = ""] = line.split(" ");
          contents.push({ name, size: Number(size), sha256: hash });
        }
      } catch (err) {
        throw fail(`cannot read its list of contents: ${messageOf(err)}`, err);
      }
      if (sha256 !== expected) throw fail("its list of contents was changed");
      return contents;
    },
    async *files(manifest, decryption) {
      for (const name of manifest.lists) {
        try {
          for await (const line of linesOf(read(manifest, name, decryption))) yield JSON.parse(line) as BackupFile;
        } catch (err) {
          throw err instanceof UserError
            ? err
            : backupErrors.damaged(
                { id: manifest.id, reason: `cannot read its list of files: ${messageOf(err)}` },
                { cause: err },
              );
        }
      }
    },
  };
}

function createWriter(
  folder: string,
  id: string,
  { encryption, nameKey, unlock }: { encryption: Encryption | undefined; nameKey: string; unlock: () => void },
): WritableFolder {
  const reader = createReader(folder, id, unlock);
  const { pathOf } = reader;
  const shelves = new Set<string>();
  const incoming = join(folder, CONTENTS, INCOMING);
  let count = 0;
  /** The recipients are part of the name, so the same content gets a different name if they change. */
  const nameOf = (sha256: string) =>
    encryption === undefined
      ? sha256
      : `${createHmac("sha256", nameKey)
          .update(`${encryption.recipients.join(",")} ${sha256}`)
          .digest("hex")}.age`;
  const isStored = (name: string, size?: number) =>
    stat(pathOf(name)).then(
      (found) => found.isFile() && (size === undefined || found.size === size),
      () => false,
    );

  async function known() {
    const found = new Map<string, StoredContent>();
    for (const manifest of (await reader.list()).manifests)
      // If the list is damaged, the next backup only becomes larger.
      for (const content of await reader.contentsOf(manifest).catch(() => [])) found.set(content.name, content);
    return found;
  }
  let knownContents: Promise<Map<string, StoredContent>> | undefined;

  return {
    ...reader,
    known: () => (knownContents ??= known()),
    async has({ name, size }) {
      // The process that stored it may have been interrupted before it made the name durable.
      shelves.add(join(folder, CONTENTS, shelfOf(name)));
      return isStored(name, size);
    },
    async store(bytes) {
      const temp = join(incoming, String(++count));
      let original: ContentDigest | undefined;
      let written: ContentDigest | undefined;
      const plain = withDigest(bytes, (found) => (original = found));
      try {
        await writeSynced(
          temp,
          withDigest(encryption === undefined ? plain : encryption.encrypt(plain), (found) => (written = found)),
        );
        const name = nameOf(original!.sha256);
        const before = (await (knownContents ??= known())).get(name);
        shelves.add(join(folder, CONTENTS, shelfOf(name)));
        if (before !== undefined && (await isStored(name, before.size))) {
          await rm(temp);
          return { original: original!, stored: before, isNew: false };
        }
        const shelf = join(folder, CONTENTS, shelfOf(name));
        await makeFolder(shelf);
        await rename(temp, pathOf(name));
        const stored = { name, ...written! };
        (await knownContents).set(name, stored);
        return { original: original!, stored, isNew: true };
      } catch (err) {
        await rm(temp, { force: true }).catch(() => {});
        throw toWriteError(err, folder);
      }
    },
    async complete(build, contents) {
      await rm(incoming, { recursive: true, force: true });
      for (const shelf of shelves) if (existsSync(shelf)) await syncFolder(shelf);
      await syncFolder(join(folder, CONTENTS));
      let sha256 = "";
      const lines = withDigest(textOf(contents), (found) => (sha256 = found.sha256));
      const list = join(folder, BACKUPS, `next.contents`);
      await writeDurable(list, lines);
      const manifest = build(sha256);
      await rename(list, join(folder, BACKUPS, `${manifest.id}.contents`));
      await writeDurable(
        join(folder, BACKUPS, `${manifest.id}.json`),
        Buffer.from(`${JSON.stringify(manifest, undefined, 2)}\n`),
      );
      return manifest;
    },
    async prune(keep) {
      const { manifests, unusable } = await reader.list();
      const removed = manifests.slice(0, Math.max(0, manifests.length - keep)).map((manifest) => manifest.id);
      // If a backup cannot be read, its contents are unknown.
      if (unusable.length > 0) return { removed: [], freedBytes: 0 };
      for (const backup of removed) await rm(join(folder, BACKUPS, `${backup}.json`), { force: true });
      await syncFolder(join(folder, BACKUPS));
      const needed = new Set<string>();
      for (const manifest of manifests.slice(removed.length))
        for (const { name } of await reader.contentsOf(manifest)) needed.add(name);
      for (const name of await readdir(join(folder, BACKUPS)))
        if (
          name.endsWith(".contents") &&
          !manifests.slice(removed.length).some((each) => name === `${each.id}.contents`)
        )
          await rm(join(folder, BACKUPS, name), { force: true });
      return { removed, freedBytes: await removeUnneeded(join(folder, CONTENTS), needed) };
    },
  };
}

async function* textOf(contents: Iterable<StoredContent>): AsyncGenerator<Uint8Array> {
  let text = "";
  for (const { name, size, sha256 } of contents) {
    text += `${name} ${size} ${sha256}\n`;
    if (text.length > 64 * 1024) {
      yield Buffer.from(text);
      text = "";
    }
  }
  yield Buffer.from(text);
}

async function removeUnneeded(contents: string, needed: ReadonlySet<string>): Promise<number> {
  let freed = 0;
  for (const shelf of await readdir(contents)) {
    for (const name of await readdir(join(contents, shelf))) {
      if (needed.has(name)) continue;
      const path = join(contents, shelf, name);
      freed += (await stat(path)).size;
      await rm(path, { force: true });
    }
  }
  return freed;
}
