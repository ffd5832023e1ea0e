import { randomBytes } from "node:crypto";
import {
  closeSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  write,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

/** A complete cache file. */
export interface CachedFile {
  readonly id: string;
  readonly path: string;
  readonly size: number;
  /**
   * Version of the object in the remote store; "" if that store has no versions, undefined if the version is not yet
   * known.
   */
  version: string | undefined;
}

/** Thrown if the file system rejects a write or all space is in use. The caller then bypasses the cache. */
export class CacheUnavailable extends Error {
  override readonly name = "CacheUnavailable";
}

/**
 * Cache files on the local disk, which can be downloaded again. Their total size is limited, including unfinished
 * files. A file gets its final name, which contains its size, when it is complete.
 */
export interface CacheFiles {
  /** Marks the file as recently used. Undefined if it is not cached. */
  find(id: string): CachedFile | undefined;
  /** Creates an unfinished file, with space for this many bytes. Throws CacheUnavailable. */
  create(expectedBytes?: number): CacheWriter;
  /** Adds an existing file, which never changes, under another name. Throws CacheUnavailable. */
  adopt(id: string, path: string, version: string | undefined): void;
  /** Keeps the file on disk, even after remove(), until the returned function is called, which is idempotent. */
  pin(file: CachedFile): () => void;
  remove(id: string): void;
  /** Total size of all files on disk. */
  usedBytes(): number;
}

export interface CacheWriter {
  /** Bytes written so far. */
  readonly size: number;
  /** Writes at `position`, by default at the end. Throws CacheUnavailable. */
  write(bytes: Uint8Array, position?: number): Promise<void>;
  /** Adds the file to the cache, replacing the one with the same id. Throws CacheUnavailable. */
  finish(id: string, version: string | undefined): CachedFile;
  /** Deletes the file, unless it is finished. */
  abort(): void;
}

interface CacheFilesOptions {
  /** Created if missing. Only one process may use it. */
  dir: string;
  maxBytes: number;
  onEvicted?: () => void;
  /** Called if the folder cannot be used. */
  onFailure?: (err: unknown) => void;
  /** Identifies the current boot of the machine. Default: the kernel's boot id. */
  bootId?: string;
}

const TEMP_PREFIX = "tmp-";
const BOOT_FILE = "boot";
/**
 * `<id>.<size>.<version>.<unique>`, the version in base64url, "-" if it is unknown. Names are unique, so that a removed
 * file can remain until its last reader has closed it.
 */
const NAME = /^([0-9a-f]+(?:-\d+)?)\.(\d+)\.(-|[A-Za-z0-9_-]*)\.[0-9a-f]+$/;
const UNKNOWN_VERSION = "-";
/** A longer version is not stored in the name: after a restart, the cache requests it from the remote store. */
const MAX_VERSION_LENGTH = 100;
/** Writes up to this size are synchronous: they only reach the page cache, and the thread pool would cost more. */
const SYNC_WRITE_MAX_BYTES = 128 * 1024;

const writeAsync = promisify(write);

interface Entry {
  file: CachedFile;
  pins: number;
  /** Removed from the cache, and deleted when the last pin is released. */
  isRemoved: boolean;
}

export function createCacheFiles({
  dir,
  maxBytes,
  onEvicted = () => {},
  onFailure = () => {},
  bootId = readBootId(),
}: CacheFilesOptions): CacheFiles {
  /** Least recently used first. */
  const entries = new Map<string, Entry>();
  let usedBytes = 0;
  /** The part of `usedBytes` that cannot be evicted: unfinished files and pinned files. */
  let lockedBytes = 0;
  let tempCount = 0;

  load();

  /** Reserves space for an unfinished file, and evicts other files if necessary. */
  function reserve(bytes: number): void {
    if (lockedBytes + bytes > maxBytes)
      throw new CacheUnavailable(`the files in use leave no space for ${bytes} bytes in the cache`);
    usedBytes += bytes;
    lockedBytes += bytes;
    evict();
  }

  function release(bytes: number): void {
    usedBytes -= bytes;
    lockedBytes -= bytes;
  }

  function evict(): void {
    if (usedBytes <= maxBytes) return;
    for (const [id, { pins }] of entries) {
      if (pins > 0) continue;
      remove(id);
      onEvicted();
      if (usedBytes <= maxBytes) return;
    }
  }

  function remove(id: string): void {
    const entry = entries.get(id);
    if (entry === undefined) return;
    entries.delete(id);
    entry.isRemoved = true;
    if (entry.pins === 0) unlink(entry.file);
  }

  function unlink({ path, size }: CachedFile): void {
    usedBytes -= size;
    removeQuietly(path);
  }

  function add(file: CachedFile): CachedFile {
    entries.set(file.id, { file, pins: 0, isRemoved: false });
    return file;
  }

  function pathOf(id: string, size: number, version: string | undefined): string {
    const encoded = version === undefined ? UNKNOWN_VERSION : Buffer.from(version).toString("base64url");
    const name = encoded.length > MAX_VERSION_LENGTH ? UNKNOWN_VERSION : encoded;
    return join(dir, `${id}.${size}.${name}.${randomBytes(6).toString("hex")}`);
  }

  /** Gives an unfinished file, whose space is already reserved, its final name. */
  function publish(temp: string, id: string, size: number, version: string | undefined): CachedFile {
    const path = pathOf(id, size, version);
    try {
      renameSync(temp, path);
    } catch (err) {
      throw new CacheUnavailable("cannot rename a cache file", { cause: err });
    }
    remove(id);
    lockedBytes -= size;
    return add({ id, path, size, version });
  }

  function load(): void {
    try {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      // A crash of the machine, unlike one of the process, may leave files whose bytes never reached the disk.
      if (bootId === "" || readTextQuietly(join(dir, BOOT_FILE)) !== bootId)
        for (const name of readdirSync(dir)) rmSync(join(dir, name), { recursive: true, force: true });
      writeFileSync(join(dir, BOOT_FILE), bootId, { mode: 0o600 });
      const found: { file: CachedFile; usedAt: number }[] = [];
      for (const name of readdirSync(dir)) {
        if (name === BOOT_FILE) continue;
        const path = join(dir, name);
        const [, id, size, version] = NAME.exec(name) ?? [];
        const stats = statSync(path, { throwIfNoEntry: false });
        if (id === undefined || !stats?.isFile() || stats.size !== Number(size)) {
          rmSync(path, { recursive: true, force: true });
          continue;
        }
        const known = version === UNKNOWN_VERSION ? undefined : Buffer.from(version!, "base64url").toString();
        found.push({ file: { id, path, size: stats.size, version: known }, usedAt: stats.mtimeMs });
      }
      for (const { file } of found.sort((a, b) => a.usedAt - b.usedAt)) {
        remove(file.id);
        usedBytes += file.size;
        add(file);
      }
      evict();
    } catch (err) {
      // Later writes fail for the same reason, and bypass the cache.
      onFailure(err);
    }
  }

  function openTemp(): { temp: string; fd: number } {
    const temp = join(dir, `${TEMP_PREFIX}${++tempCount}`);
    try {
      return { temp, fd: openSync(temp, "wx", 0o600) };
    } catch (err) {
      throw new CacheUnavailable("cannot create a cache file", { cause: err });
    }
  }

  return {
    find(id) {
      const entry = entries.get(id);
      if (entry === undefined) return undefined;
      entries.delete(id);
      entries.set(id, entry);
      return entry.file;
    },

    create(expectedBytes = 0) {
      reserve(expectedBytes);
      let opened: { temp: string; fd: number };
      try {
        opened = openTemp();
      } catch (err) {
        release(expectedBytes);
        throw err;
      }
      const { temp, fd } = opened;
      let size = 0;
      let reservedBytes = expectedBytes;
      let isOpen = true;
      const close = () => {
        if (isOpen) closeSync(fd);
        isOpen = false;
      };
      const abort = () => {
        if (!isOpen) return;
        close();
        release(reservedBytes);
        removeQuietly(temp);
      };
      return {
        get size() {
          return size;
        },
        async write(bytes, position = size) {
          if (!isOpen) throw new CacheUnavailable("the cache file is closed");
          size += bytes.length;
          if (size > reservedBytes) {
            reserve(size - reservedBytes);
            reservedBytes = size;
          }
          try {
            for (let done = 0; done < bytes.length;) {
              const rest = bytes.length - done;
              done +=
                rest <= SYNC_WRITE_MAX_BYTES
                  ? writeSync(fd, bytes, done, rest, position + done)
                  : (await writeAsync(fd, bytes, done, rest, position + done)).bytesWritten;
            }
          } catch (err) {
            throw new CacheUnavailable("cannot write a cache file", { cause: err });
          }
        },
        finish(id, version) {
          if (!isOpen) throw new CacheUnavailable("the cache file is closed");
          try {
            release(reservedBytes - size);
            reservedBytes = size;
            const file = publish(temp, id, size, version);
            close();
            return file;
          } catch (err) {
            abort();
            throw err;
          }
        },
        abort,
      };
    },

    adopt(id, path, version) {
      const temp = join(dir, `${TEMP_PREFIX}${++tempCount}`);
      let size = 0;
      try {
        ({ size } = statSync(path));
        reserve(size);
      } catch (err) {
        throw err instanceof CacheUnavailable ? err : new CacheUnavailable(`cannot read ${path}`, { cause: err });
      }
      try {
        linkOrCopy(path, temp);
        publish(temp, id, size, version);
      } catch (err) {
        release(size);
        removeQuietly(temp);
        throw err instanceof CacheUnavailable ? err : new CacheUnavailable(`cannot copy ${path}`, { cause: err });
      }
    },

    pin(file) {
      const entry = entries.get(file.id);
      if (entry?.file !== file) throw new CacheUnavailable("the cache file was removed");
      if (entry.pins++ === 0) lockedBytes += file.size;
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        if (--entry.pins > 0) return;
        lockedBytes -= file.size;
        if (entry.isRemoved) unlink(entry.file);
        else evict();
      };
    },

    remove,
    usedBytes: () => usedBytes,
  };
}

function linkOrCopy(path: string, target: string): void {
  try {
    linkSync(path, target);
  } catch {
    // The path is on another file system, or on one without hard links.
    copyFileSync(path, target);
  }
}

function readBootId(): string {
  return readTextQuietly("/proc/sys/kernel/random/boot_id") ?? "";
}

function readTextQuietly(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function removeQuietly(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // The file is already deleted, or the disk rejects the deletion: then the next start deletes it.
  }
}
