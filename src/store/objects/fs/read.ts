import { closeSync, close, fstat, fstatSync, open, openSync, read, readSync, type Stats, statSync } from "node:fs";
import { open as openHandle } from "node:fs/promises";
import { Readable } from "node:stream";
import { Fault } from "../../../kernel/index.ts";
import { storeErrors } from "../../errors.ts";
import { codeOf } from "./errors.ts";
import { createAdaptiveRead, type AdaptiveRead } from "./warm.ts";
import type { ObjectHandle, ObjectReader } from "../port.ts";

/** Files up to this size are read on this thread: using the thread pool costs more than copying from the page cache. */
const SYNC_READ_MAX_BYTES = 64 * 1024;
const READ_SIZE_BYTES = 1024 * 1024;

export function openObject(
  path: string,
  key: string,
  warmRead: AdaptiveRead = createAdaptiveRead(),
): ObjectHandle | undefined {
  const openedStats = statOf(path);
  if (!openedStats?.isFile()) return undefined;
  const { size } = openedStats;

  // A handle does not keep a file descriptor open. A later read must see the file that was opened, otherwise a reader
  // would get a mix of two objects.
  const isSameAsOpened = (now: Stats) =>
    now.ino === openedStats.ino && now.size === openedStats.size && now.mtimeMs === openedStats.mtimeMs;
  const createChangedError = () => storeErrors.objectChanged({ key });

  function readRange(range?: { start: number; end?: number }): Readable {
    const { start, end = size - 1 } = range ?? { start: 0 };
    const isValidRange =
      Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start < size && end >= start;
    if (range && !isValidRange) throw storeErrors.badRange({ start, end, size });
    return createReader(path, {
      start,
      end: Math.min(end, size - 1),
      verify: (now) => (now && isSameAsOpened(now) ? undefined : createChangedError()),
    });
  }

  async function bytes(): Promise<Buffer> {
    try {
      return size <= SYNC_READ_MAX_BYTES ? readAtOnce() : await readAll();
    } catch (err) {
      throw codeOf(err) === "ENOENT" ? createChangedError() : err;
    }
  }

  function readAtOnce(): Buffer {
    const fd = openSync(path, "r");
    try {
      if (!isSameAsOpened(fstatSync(fd))) throw createChangedError();
      const buffer = Buffer.allocUnsafe(size);
      for (let bytesDone = 0; bytesDone < size;)
        bytesDone += progress(readSync(fd, buffer, bytesDone, size - bytesDone, null));
      return buffer;
    } finally {
      closeSync(fd);
    }
  }

  async function readAll(): Promise<Buffer> {
    const handle = await openHandle(path, "r");
    try {
      if (!isSameAsOpened(await handle.stat())) throw createChangedError();
      const buffer = Buffer.allocUnsafeSlow(size);
      for (let bytesDone = 0; bytesDone < size;)
        bytesDone += progress((await handle.read(buffer, bytesDone, size - bytesDone, null)).bytesRead);
      return buffer;
    } finally {
      await handle.close();
    }
  }

  return {
    size,
    version: `${openedStats.ino.toString(36)}-${openedStats.mtimeMs.toString(36)}-${size.toString(36)}`,
    read: readRange,
    bytes,
    reader: () => openReader(path, warmRead, (now) => (now && isSameAsOpened(now) ? undefined : createChangedError())),
  };
}

function openReader(
  path: string,
  warmRead: AdaptiveRead,
  verify: (now: Stats | undefined) => Error | undefined,
): ObjectReader {
  const fd = openedAt(path, verify);
  try {
    const verifyError = verify(fstatSync(fd));
    if (verifyError) throw verifyError;
  } catch (err) {
    closeSync(fd);
    throw err;
  }
  return { read: (into, position) => warmRead(fd, into, position), close: () => closeSync(fd) };
}

function openedAt(path: string, verify: (now: Stats | undefined) => Error | undefined): number {
  try {
    return openSync(path, "r");
  } catch (err) {
    throw codeOf(err) === "ENOENT" ? (verify(undefined) ?? err) : err;
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (err) {
    // A segment of the key is an object, so nothing exists under it.
    if (codeOf(err) === "ENOTDIR") return undefined;
    throw err;
  }
}

function progress(bytesRead: number): number {
  if (bytesRead === 0) throw new Fault("a file is shorter than its recorded size");
  return bytesRead;
}

function createReader(
  path: string,
  { start, end, verify }: { start: number; end: number; verify(now: Stats | undefined): Error | undefined },
): Readable {
  let fd: number | undefined;
  let position = start;
  return new Readable({
    highWaterMark: READ_SIZE_BYTES,
    construct(done) {
      open(path, "r", (err, opened) => {
        if (err) return done(codeOf(err) === "ENOENT" ? verify(undefined) : err);
        fd = opened;
        fstat(opened, (err, now) => done(err ?? verify(now)));
      });
    },
    read() {
      const wanted = Math.min(READ_SIZE_BYTES, end - position + 1);
      if (wanted <= 0) return void this.push(null);
      read(fd!, Buffer.allocUnsafeSlow(wanted), 0, wanted, position, (err, count, buffer) => {
        if (err) return void this.destroy(err);
        if (count === 0) return void this.destroy(new Fault("a file is shorter than its recorded size"));
        position += count;
        this.push(buffer.subarray(0, count));
      });
    },
    destroy(reason, done) {
      if (fd === undefined) return done(reason);
      close(fd, (err) => done(reason ?? err));
    },
  });
}
