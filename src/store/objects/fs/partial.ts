import { createHash } from "node:crypto";
import { close, constants, fdatasync, fstat, ftruncate, open, writev } from "node:fs";
import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { storeErrors } from "../../errors.ts";
import { codeOf, toFsStoreError } from "./errors.ts";
import type { Folders } from "./folders.ts";
import type { Holds } from "./hold.ts";
import { renameToFinal } from "./write.ts";
import type { PartialObject } from "../port.ts";

const [openAsync, closeAsync, statAsync, truncateAsync, syncAsync, writevAsync] = [
  promisify(open),
  promisify(close),
  promisify(fstat),
  promisify(ftruncate),
  promisify(fdatasync),
  promisify(writev),
];

const FOLDER = ".partial";
/**
 * Received data is written in batches of this size, without copying it. An upload holds at most two: one is written while
 * the next one arrives. Larger batches use less CPU time, but more memory for each upload.
 */
const BATCH_BYTES = 64 * 1024;
/** Maximum number of buffers in a batch: a client may send its data octet by octet. */
const BATCH_PIECES = 64;
/** Maximum amount of unsynced data: without it, the final sync could take many seconds. */
const SYNC_INTERVAL_BYTES = 64 * 1024 * 1024;
/** A partial object that has not changed for this long is abandoned. */
const ABANDONED_MS = 45 * 24 * 3_600_000;

/** Files in `.partial`, one per key, named after the key's digest: keys may exceed the maximum length of file names. */
export function createPartials(
  root: string,
  { folders, holds }: { folders: Folders; holds: Holds },
): (key: string) => PartialObject {
  const folder = join(root, FOLDER);

  return (key) => {
    const name = createHash("sha256").update(key).digest("hex");
    const temp = join(folder, name);
    const path = join(root, key);
    const withStoreErrors = async <Result>(step: Promise<Result>): Promise<Result> => {
      try {
        return await step;
      } catch (err) {
        throw toFsStoreError(err, key);
      }
    };

    /** The file is append-only, so its size is the stored size. */
    async function size(): Promise<number> {
      return (await sizeOf(temp)) ?? 0;
    }

    async function openNow(): Promise<number> {
      await folders.create(folder, true);
      const fd = await openAsync(temp, constants.O_RDWR | constants.O_CREAT, 0o600);
      // The name is synced on the first write.
      if ((await statAsync(fd)).size === 0) await folders.sync(folder);
      return fd;
    }

    return {
      size,
      async append(offset, body) {
        const fd = await withStoreErrors(openNow());
        try {
          const { size: keptSize } = await statAsync(fd);
          if (keptSize !== offset) throw storeErrors.badOffset({ key, offset, size: keptSize });
          return await appendTo(fd, offset, body, withStoreErrors);
        } finally {
          await closeAsync(fd);
        }
      },
      async complete(wanted) {
        const keptSize = await sizeOf(temp);
        if (keptSize === undefined) {
          if ((await sizeOf(path)) === wanted) return;
          throw storeErrors.absent({ key });
        }
        if (keptSize !== wanted) throw storeErrors.badOffset({ key, offset: wanted, size: keptSize });
        await withStoreErrors(syncFile(temp));
        holds.keep(`${FOLDER}/${name}`);
        holds.keep(key);
        await withStoreErrors(renameToFinal({ temp, path, folders }, true));
      },
      async discard() {
        holds.keep(`${FOLDER}/${name}`);
        await withStoreErrors(unlink(temp)).catch(ignoreAbsent);
      },
    };
  };
}

type Ours = <Result>(step: Promise<Result>) => Promise<Result>;

/** Positional writes: another writer of the same bytes, from an abandoned connection, writes the same data. */
async function appendTo(
  fd: number,
  offset: number,
  body: AsyncIterable<Uint8Array>,
  withStoreErrors: Ours,
): Promise<number> {
  let position = offset;
  let unsyncedBytes = 0;
  let failure: { err: unknown } | undefined;
  /** After a failed sync, the operating system may later report success for lost data. */
  let isUnsure = false;
  const sync = async () => {
    try {
      await withStoreErrors(syncAsync(fd));
    } catch (err) {
      isUnsure = true;
      throw err;
    }
  };
  /** One batch is written while the next one arrives. */
  let writing: Promise<void> = Promise.resolve();
  const write = ({ pieces, bytes }: Batch) => {
    writing = withStoreErrors(writeAt(fd, pieces, position));
    writing.catch(() => {});
    position += bytes;
    unsyncedBytes += bytes;
  };
  try {
    for await (const batch of batchesOf(body)) {
      await writing;
      if (unsyncedBytes >= SYNC_INTERVAL_BYTES) {
        await sync();
        unsyncedBytes = 0;
      }
      write(batch);
    }
  } catch (err) {
    failure = { err };
  }
  try {
    await writing;
  } catch (err) {
    // A full disk takes precedence over errors of the source.
    failure = { err };
  }
  await sync().catch((err: unknown) => (failure ??= { err }));
  if (isUnsure) await truncateAsync(fd, offset).catch(() => {});
  if (failure) throw failure.err;
  return position;
}

interface Batch {
  pieces: Uint8Array[];
  /** Their total length. */
  bytes: number;
}

/** Yields the data in batches. After an error of the source, yields the rest that has arrived before rejecting. */
async function* batchesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Batch> {
  let batch: Batch = { pieces: [], bytes: 0 };
  try {
    for await (const piece of body) {
      if (piece.length === 0) continue;
      batch.pieces.push(piece);
      batch.bytes += piece.length;
      if (batch.bytes < BATCH_BYTES && batch.pieces.length < BATCH_PIECES) continue;
      yield batch;
      batch = { pieces: [], bytes: 0 };
    }
  } catch (err) {
    if (batch.bytes > 0) yield batch;
    throw err;
  }
  if (batch.bytes > 0) yield batch;
}

/** writev(2) may be partial. */
async function writeAt(fd: number, pieces: readonly Uint8Array[], position: number): Promise<void> {
  let rest = pieces;
  for (let at = position; rest.length > 0;) {
    const { bytesWritten } = await writevAsync(fd, rest, at);
    at += bytesWritten;
    rest = afterFirst(rest, bytesWritten);
  }
}

/** The pieces without their first `bytes`. */
function afterFirst(pieces: readonly Uint8Array[], bytes: number): Uint8Array[] {
  let remaining = bytes;
  return pieces.flatMap((piece) => {
    const skipped = Math.min(remaining, piece.length);
    remaining -= skipped;
    return skipped === piece.length ? [] : [piece.subarray(skipped)];
  });
}

async function syncFile(path: string): Promise<void> {
  const fd = await openAsync(path, "r+");
  try {
    await syncAsync(fd);
  } finally {
    await closeAsync(fd);
  }
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    const fileStats = await stat(path);
    return fileStats.isFile() ? fileStats.size : undefined;
  } catch (err) {
    if (codeOf(err) === "ENOENT" || codeOf(err) === "ENOTDIR") return undefined;
    throw err;
  }
}

function ignoreAbsent(err: unknown): void {
  if (codeOf(err) !== "ENOENT") throw err;
}

/** Deletes abandoned partial objects of any process. */
export async function sweepPartials(root: string): Promise<void> {
  const folder = join(root, FOLDER);
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const fileStats = await stat(path).catch(() => undefined);
    if (fileStats !== undefined && Date.now() - fileStats.mtimeMs > ABANDONED_MS)
      await unlink(path).catch(ignoreAbsent);
  }
}
