import {
  closeSync,
  createReadStream,
  fdatasync,
  linkSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  write,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { promisify } from "node:util";
import { storeErrors } from "../../errors.ts";
import { createDigester, digestOf } from "../digest.ts";
import { codeOf, toFsStoreError } from "./errors.ts";
import type { Folders } from "./folders.ts";
import type { Holds } from "./hold.ts";
import type { PutOptions, StoredObject } from "../port.ts";

/** Writes up to this size go to the page cache on this thread: using the thread pool costs more. */
const SYNC_WRITE_MAX_BYTES = 128 * 1024;
/** Stream data is buffered into writes of this size. */
const GATHER_BYTES = 256 * 1024;

const fdatasyncAsync = promisify(fdatasync);
const writeAsync = promisify(write);

interface Target {
  key: string;
  path: string;
  temp: string;
  folders: Folders;
  holds: Holds;
}

export async function writeObject(
  target: Target,
  body: Uint8Array | AsyncIterable<Uint8Array>,
  options: PutOptions,
): Promise<StoredObject> {
  const { maxBytes = Infinity, durable = true, ifAbsent = false } = options;
  if (body instanceof Uint8Array && body.length > maxBytes) throw storeErrors.tooLarge({ maxBytes });
  const fd = await withStoreErrors(target, () => openSync(target.temp, "wx", 0o600));
  try {
    let storedObject: StoredObject;
    try {
      // Errors of the source are passed on unchanged: only file operations go through `withStoreErrors`.
      const write = (bytes: Uint8Array) => withStoreErrors(target, () => writeAll(fd, bytes));
      storedObject =
        body instanceof Uint8Array
          ? await writeBytes(write, body, options)
          : await writeStream(write, body, options, maxBytes);
      if (durable) await withStoreErrors(target, () => fdatasyncAsync(fd));
    } finally {
      closeSync(fd);
    }
    if (ifAbsent)
      return (await withStoreErrors(target, () => linkToFinal(target, durable)))
        ? storedObject
        : { ...storedObject, isExisting: true };
    target.holds.keep(target.key);
    await withStoreErrors(target, () => renameToFinal(target, durable));
    return storedObject;
  } catch (err) {
    removeQuietly(target.temp);
    throw err;
  }
}

/** Creates a second name for a file. link(2) does not replace, so it links the temporary name and renames it. */
export async function linkObject(target: Target, from: { key: string; path: string }): Promise<void> {
  try {
    linkSync(from.path, target.temp);
  } catch (err) {
    if (codeOf(err) === "ENOENT" || codeOf(err) === "ENOTDIR") throw storeErrors.absent({ key: from.key });
    throw toFsStoreError(err, target.key);
  }
  target.holds.keep(target.key);
  try {
    await withStoreErrors(target, () => renameToFinal(target, true));
  } finally {
    // rename(2) does nothing if both names refer to the same file.
    removeQuietly(target.temp);
  }
}

/** Stores a file that is not an object. It is copied if it is on another file system, or has too many hard links. */
export async function storeFile(
  target: Target,
  file: string,
  { durable = true }: { durable?: boolean },
): Promise<void> {
  try {
    linkSync(file, target.temp);
  } catch (err) {
    if (codeOf(err) === "ENOENT") throw err;
    await writeObject(target, createReadStream(file), { durable });
    return;
  }
  try {
    if (durable) await withStoreErrors(target, () => syncFile(target.temp));
    target.holds.keep(target.key);
    await withStoreErrors(target, () => renameToFinal(target, durable));
  } finally {
    removeQuietly(target.temp);
  }
}

async function syncFile(path: string): Promise<void> {
  const fd = openSync(path, "r");
  try {
    await fdatasyncAsync(fd);
  } finally {
    closeSync(fd);
  }
}

async function withStoreErrors<Result>({ key }: Target, step: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await step();
  } catch (err) {
    throw toFsStoreError(err, key);
  }
}

type Write = (bytes: Uint8Array) => Promise<void>;

async function writeBytes(write: Write, bytes: Uint8Array, { digests }: PutOptions): Promise<StoredObject> {
  await write(bytes);
  return digestOf(bytes, digests);
}

/** Requests the next chunk only after the previous one is written; copies chunks, so that the source may reuse them. */
async function writeStream(
  write: Write,
  body: AsyncIterable<Uint8Array>,
  { digests }: PutOptions,
  maxBytes: number,
): Promise<StoredObject> {
  const digester = createDigester(digests);
  const gatherBuffer = Buffer.allocUnsafeSlow(GATHER_BYTES);
  let usedBytes = 0;
  for await (const chunk of body) {
    digester.update(chunk);
    if (digester.size() > maxBytes) throw storeErrors.tooLarge({ maxBytes });
    if (usedBytes + chunk.length > GATHER_BYTES) {
      await write(gatherBuffer.subarray(0, usedBytes));
      usedBytes = 0;
    }
    if (chunk.length > GATHER_BYTES) {
      await write(chunk);
    } else {
      gatherBuffer.set(chunk, usedBytes);
      usedBytes += chunk.length;
    }
  }
  await write(gatherBuffer.subarray(0, usedBytes));
  return digester.finish();
}

/** write(2) may be partial, for example when the disk is nearly full; only the next call reports the error. */
async function writeAll(fd: number, bytes: Uint8Array) {
  for (let writtenBytes = 0; writtenBytes < bytes.length;) {
    const rest = bytes.length - writtenBytes;
    writtenBytes +=
      rest <= SYNC_WRITE_MAX_BYTES
        ? writeSync(fd, bytes, writtenBytes)
        : (await writeAsync(fd, bytes, writtenBytes, rest, null)).bytesWritten;
  }
}

/** The bytes of `temp` must already be on disk if the name is `durable`. */
export async function renameToFinal(
  { temp, path, folders }: Pick<Target, "temp" | "path" | "folders">,
  durable: boolean,
): Promise<void> {
  const folder = dirname(path);
  await folders.create(folder, durable);
  try {
    renameSync(temp, path);
  } catch (err) {
    if (codeOf(err) !== "ENOENT") throw err;
    folders.forget(folder);
    await folders.create(folder, durable);
    renameSync(temp, path);
  }
  if (durable) await folders.sync(folder);
}

/** Returns false if the name exists: unlike rename(2), link(2) does not replace a file. */
async function linkToFinal({ temp, path, folders }: Target, durable: boolean): Promise<boolean> {
  const folder = dirname(path);
  const link = async () => {
    await folders.create(folder, durable);
    return linkIfAbsent(temp, path);
  };
  const isLinked = await link().catch((err: unknown) => {
    if (codeOf(err) !== "ENOENT") throw err;
    folders.forget(folder);
    return link();
  });
  removeQuietly(temp);
  if (isLinked && durable) await folders.sync(folder);
  return isLinked;
}

function linkIfAbsent(temp: string, path: string): boolean {
  try {
    linkSync(temp, path);
    return true;
  } catch (err) {
    if (codeOf(err) === "EEXIST" && statSync(path).isFile()) return false;
    throw err;
  }
}

function removeQuietly(path: string) {
  try {
    unlinkSync(path);
  } catch {
    // The file has already been renamed, or the disk rejects the removal, too: the sweep at the next start deletes it.
  }
}
