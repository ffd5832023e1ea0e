import { createHash, randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { messageOf, UserError } from "../kernel/index.ts";
import { backupErrors } from "./errors.ts";

export interface ContentDigest {
  size: number;
  sha256: string;
}

/** Converts a failed write to a BackupError if the user can fix it. */
export function toWriteError(err: unknown, path: string): unknown {
  if (err instanceof UserError) return err;
  switch ((err as NodeJS.ErrnoException | null)?.code) {
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return backupErrors.full({ path }, { cause: err });
    case "EACCES":
    case "EPERM":
    case "EROFS":
    case "ENOTDIR":
    case "ENOENT":
      return backupErrors.notWritable({ path, reason: messageOf(err) }, { cause: err });
    default:
      return err;
  }
}

/** Counts and hashes the bytes that pass through. */
export async function* withDigest(
  bytes: AsyncIterable<Uint8Array>,
  done: (written: ContentDigest) => void,
): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    size += chunk.length;
    yield chunk;
  }
  done({ size, sha256: hash.digest("hex") });
}

export async function digestStream(bytes: AsyncIterable<Uint8Array>): Promise<ContentDigest> {
  let written: ContentDigest | undefined;
  for await (const _ of withDigest(bytes, (result) => (written = result)));
  return written!;
}

/**
 * Writes a new file with owner-only permissions; when this resolves, its bytes are on disk, but its name is not. Errors
 * of the source are passed on; a failed write is a BackupError.
 */
export async function writeSynced(path: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, "wx", 0o600).catch((err: unknown) => {
    throw toWriteError(err, path);
  });
  try {
    for await (const chunk of bytes) {
      for (let at = 0; at < chunk.length;)
        at += await file.write(chunk, at).then(
          ({ bytesWritten }) => bytesWritten,
          (err: unknown) => {
            throw toWriteError(err, path);
          },
        );
    }
    await file.datasync().catch((err: unknown) => {
      throw toWriteError(err, path);
    });
  } finally {
    await file.close();
  }
}

/** Writes a file atomically; it is on disk when the promise resolves. */
export async function writeDurable(path: string, bytes: AsyncIterable<Uint8Array> | Uint8Array): Promise<void> {
  const temp = join(dirname(path), `.${randomBytes(6).toString("hex")}.tmp`);
  try {
    await writeSynced(temp, bytes instanceof Uint8Array ? once(bytes) : bytes);
    await rename(temp, path);
  } catch (err) {
    await rm(temp, { force: true }).catch(() => {});
    throw toWriteError(err, path);
  }
  await syncFolder(dirname(path));
}

async function* once(bytes: Uint8Array) {
  yield bytes;
}

/** Makes all file names in the folder durable (fsync). */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

export async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 }).catch((err: unknown) => {
    throw toWriteError(err, path);
  });
}

export const readFileStream = (path: string): AsyncIterable<Uint8Array> =>
  createReadStream(path, { highWaterMark: 1024 * 1024 });

/** Lines of a UTF-8 text, without the line breaks and without empty lines. */
export async function* linesOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let rest = "";
  for await (const chunk of bytes) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line !== "") yield line;
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}

/**
 * Runs `work` for each item, up to `limit` at a time. Rejects with the first error, after the pending calls have ended.
 */
export async function forEachParallel<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let failure: { err: unknown } | undefined;
  for await (const item of items) {
    const task = work(item)
      .catch((err: unknown) => void (failure ??= { err }))
      .finally(() => running.delete(task));
    running.add(task);
    if (running.size >= limit) await Promise.race(running);
    if (failure) break;
  }
  await Promise.all(running);
  if (failure) throw failure.err;
}
