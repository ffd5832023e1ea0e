import { createReadStream } from "node:fs";
import { mkdir, open, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Ids } from "../../kernel/index.ts";
import { createHeaderEnd, HEADER_LIMITS } from "../../protocol/rfc5322/index.ts";
import { mailErrors, mebibytes } from "../errors.ts";
import { createChunks } from "./chunks.ts";
import { freeMemory } from "./free-memory.ts";
import type { MailSource } from "./types.ts";

/** Where messages wait while they are handled: small ones in memory, the rest in files of a folder that belongs to the spool alone. */
export interface Spool {
  /** The largest message taken, octets. */
  readonly maxBytes: number;
  /**
   * Reads a message to its end. `id` becomes its id. `prefix` is put in front of it and does not count. Rejects with UserError when the message or its header
   * section is too large, with the stream's own error when it breaks off; leaves nothing behind then.
   */
  collect(body: AsyncIterable<Uint8Array>, options?: CollectOptions): Promise<MailSource>;
  /** The same for a message that is at hand in one piece. The bytes must not change afterwards. */
  hold(bytes: Uint8Array): MailSource;
  /** Deletes every file that is left. */
  close(): Promise<void>;
}

interface CollectOptions {
  id?: string;
  prefix?: string;
  maxBytes?: number;
  /** The chunks are the spool's from here on: nobody else looks at them, before or after, and their memory is freed as soon as it is written. Default false. */
  owned?: boolean;
}

export interface SpoolOptions {
  /** Emptied and made when first needed: what lies there then was left by a process that died. */
  dir: string;
  ids: Pick<Ids, "hex">;
  /** Default 26214400 (25 MiB). */
  maxBytes?: number;
  /** Messages up to this size stay in memory. Default 256 KiB. */
  memoryBytes?: number;
}

export const MAX_MESSAGE_BYTES = 26_214_400;

/** What we may write above a message ourselves. */
const PREFIX_ROOM = 4096;

export function createSpool({ dir, ids, maxBytes = MAX_MESSAGE_BYTES, memoryBytes = 256 * 1024 }: SpoolOptions): Spool {
  const files = new Set<string>();
  let folder: Promise<unknown> | undefined;

  async function createFile(id: string): Promise<{ path: string; handle: FileHandle }> {
    await (folder ??= emptyFolder(dir).catch((err: unknown) => {
      // A disk that is full now may have room for the next message.
      folder = undefined;
      throw err;
    }));
    const path = join(dir, `${id}.eml`);
    files.add(path);
    return { path, handle: await open(path, "wx", 0o600) };
  }

  async function deleteFile(path: string) {
    await rm(path, { force: true });
    files.delete(path);
  }

  async function collect(
    body: AsyncIterable<Uint8Array>,
    { id = ids.hex(), prefix = "", maxBytes: limit = maxBytes, owned = false }: CollectOptions = {},
  ): Promise<MailSource> {
    const head = createHeadReader();
    const waiting = createChunks();
    let size = 0;
    let file: { path: string; handle: FileHandle } | undefined;
    let writing: Promise<unknown> = Promise.resolve();

    /** Writes what waits while the next of it comes in; no more than one write is under way. */
    async function flush() {
      file ??= await createFile(id);
      await writing;
      writing = write(file.handle, waiting.takePieces());
      writing.catch(() => {});
    }

    async function write(handle: FileHandle, pieces: Uint8Array[]) {
      await writeAll(handle, pieces);
      // Until the header section is whole its reader holds the same chunks.
      if (owned && head.whole) freeMemory(pieces);
    }

    function take(chunk: Uint8Array) {
      head.push(chunk);
      waiting.push(chunk);
      size += chunk.length;
    }

    try {
      if (prefix !== "") take(Buffer.from(prefix));
      const most = limit + size;
      for await (const chunk of body) {
        take(chunk);
        if (size > most) throw mailErrors.messageTooLarge({ limit: mebibytes(limit) });
        if (waiting.length > memoryBytes) await flush();
      }
      if (file === undefined) return inMemory(id, waiting.take(), head.end());
      if (waiting.length > 0) await flush();
      await writing;
      await file.handle.close();
      return inFile(id, file.path, size, head.end());
    } catch (err) {
      if (file !== undefined) {
        await writing.catch(() => {});
        await file.handle.close().catch(() => {});
        await deleteFile(file.path);
      }
      throw err;
    }
  }

  function inFile(id: string, path: string, size: number, headerBlock: Uint8Array): MailSource {
    return {
      id,
      size,
      headerBlock,
      file: path,
      open: (start = 0) => createReadStream(path, { start, highWaterMark: 256 * 1024 }),
      discard: () => deleteFile(path),
    };
  }

  return {
    maxBytes,
    collect,
    hold(bytes) {
      if (bytes.length > maxBytes) throw mailErrors.messageTooLarge({ limit: mebibytes(maxBytes) });
      const head = createHeadReader();
      head.push(bytes);
      return inMemory(ids.hex(), bytes, head.end());
    },
    async close() {
      await Promise.all([...files].map(deleteFile));
    },
  };
}

/** At the file's end. A write may be short, as every write(2). */
async function writeAll(handle: FileHandle, pieces: Uint8Array[]): Promise<void> {
  const { bytesWritten } = await handle.writev(pieces);
  const missing = pieces.reduce((sum, piece) => sum + piece.length, 0) - bytesWritten;
  if (missing > 0) await handle.writeFile(Buffer.concat(pieces).subarray(-missing));
}

const inMemory = (id: string, bytes: Uint8Array, headerBlock: Uint8Array): MailSource => ({
  id,
  size: bytes.length,
  headerBlock,
  open: (start = 0) => (start === 0 ? bytes : bytes.subarray(start)),
  discard: async () => {},
});

async function emptyFolder(dir: string) {
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true, mode: 0o700 });
}

/** Keeps the header section, however it is cut. */
function createHeadReader() {
  const scan = createHeaderEnd();
  const chunks = createChunks();
  let found: Uint8Array | undefined;

  return {
    get whole() {
      return found !== undefined;
    },
    push(chunk: Uint8Array) {
      if (found !== undefined) return;
      chunks.push(chunk);
      const end = scan.push(chunk);
      if ((end ?? chunks.length) > HEADER_LIMITS.maxBytes + PREFIX_ROOM)
        throw mailErrors.cannotParse({ why: `the header section is larger than ${HEADER_LIMITS.maxBytes} bytes` });
      if (end !== undefined) found = chunks.take(end);
    },
    /** A message without an empty line is all header. */
    end: () => (found ??= chunks.take()),
  };
}
