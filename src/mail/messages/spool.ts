import { createReadStream } from "node:fs";
import { mkdir, open, rm, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Ids } from "../../kernel/index.ts";
import { createHeaderEndFinder, HEADER_LIMITS } from "../../protocol/rfc5322/index.ts";
import { mailErrors, mebibytes } from "../errors.ts";
import { createChunks } from "./chunks.ts";
import { freeMemory } from "./free-memory.ts";
import type { MailSource } from "./types.ts";

/**
 * Stores messages while they are processed: small ones in memory, others in files in a folder that only the spool uses.
 */
export interface Spool {
  /** Maximum message size in octets. */
  readonly maxBytes: number;
  /**
   * Reads a message to its end. `id` becomes its id. `prefix` is prepended and does not count towards the limit.
   * Rejects with UserError if the message or its header section is too large, and with the stream's own error if the
   * stream fails; in both cases nothing is left behind.
   */
  collect(body: AsyncIterable<Uint8Array>, options?: CollectOptions): Promise<MailSource>;
  /** Like `collect`, for a message that is already in memory. The bytes must not change afterwards. */
  fromMemory(bytes: Uint8Array): MailSource;
  /** Deletes all remaining files. */
  close(): Promise<void>;
}

interface CollectOptions {
  id?: string;
  prefix?: string;
  maxBytes?: number;
  /**
   * If true, the spool owns the chunks: no other code uses them, and their memory is freed as soon as they are written.
   * Default false.
   */
  ownsChunks?: boolean;
}

interface SpoolOptions {
  /** Folder created on first use, and emptied of files left by a dead process. */
  dir: string;
  ids: Pick<Ids, "hex">;
  /** Default 26214400 (25 MiB). */
  maxBytes?: number;
  /** Messages up to this size stay in memory. Default 256 KiB. */
  memoryBytes?: number;
}

export const MAX_MESSAGE_BYTES = 26_214_400;

/** Maximum size of fields added on top of a message. */
const PREFIX_HEADROOM_BYTES = 4096;

export function createSpool({ dir, ids, maxBytes = MAX_MESSAGE_BYTES, memoryBytes = 256 * 1024 }: SpoolOptions): Spool {
  const files = new Set<string>();
  let folder: Promise<unknown> | undefined;

  async function createFile(id: string): Promise<{ path: string; handle: FileHandle }> {
    await (folder ??= emptyFolder(dir).catch((err: unknown) => {
      // The disk may have free space again for the next message.
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
    { id = ids.hex(), prefix = "", maxBytes: limit = maxBytes, ownsChunks = false }: CollectOptions = {},
  ): Promise<MailSource> {
    const head = createHeadReader();
    const waitingChunks = createChunks();
    let size = 0;
    let file: { path: string; handle: FileHandle } | undefined;
    let writing: Promise<unknown> = Promise.resolve();

    /** Writes the collected chunks while the next ones arrive; only one write runs at a time. */
    async function flush() {
      file ??= await createFile(id);
      await writing;
      writing = write(file.handle, waitingChunks.takeChunks());
      writing.catch(() => {});
    }

    async function write(handle: FileHandle, pieces: Uint8Array[]) {
      await writeAll(handle, pieces);
      // Until the header section is complete, its reader uses the same chunks.
      if (ownsChunks && head.isWhole()) freeMemory(pieces);
    }

    function addChunk(chunk: Uint8Array) {
      head.push(chunk);
      waitingChunks.push(chunk);
      size += chunk.length;
    }

    try {
      if (prefix !== "") addChunk(Buffer.from(prefix));
      const maxTotal = limit + size;
      for await (const chunk of body) {
        addChunk(chunk);
        if (size > maxTotal) throw mailErrors.messageTooLarge({ limit: mebibytes(limit) });
        if (waitingChunks.byteLength() > memoryBytes) await flush();
      }
      if (file === undefined) return createMemorySource(id, waitingChunks.take(), head.end());
      if (waitingChunks.byteLength() > 0) await flush();
      await writing;
      await file.handle.close();
      return createFileSource(id, file.path, size, head.end());
    } catch (err) {
      if (file !== undefined) {
        await writing.catch(() => {});
        await file.handle.close().catch(() => {});
        await deleteFile(file.path);
      }
      throw err;
    }
  }

  function createFileSource(id: string, path: string, size: number, headerBlock: Uint8Array): MailSource {
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
    fromMemory(bytes) {
      if (bytes.length > maxBytes) throw mailErrors.messageTooLarge({ limit: mebibytes(maxBytes) });
      const head = createHeadReader();
      head.push(bytes);
      return createMemorySource(ids.hex(), bytes, head.end());
    },
    async close() {
      await Promise.all([...files].map(deleteFile));
    },
  };
}

/** Appends to the file. A write may be short, as with write(2). */
async function writeAll(handle: FileHandle, pieces: Uint8Array[]): Promise<void> {
  const { bytesWritten } = await handle.writev(pieces);
  const missingBytes = pieces.reduce((sum, piece) => sum + piece.length, 0) - bytesWritten;
  if (missingBytes > 0) await handle.writeFile(Buffer.concat(pieces).subarray(-missingBytes));
}

const createMemorySource = (id: string, bytes: Uint8Array, headerBlock: Uint8Array): MailSource => ({
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

/** Collects the header section from chunks of any size. */
function createHeadReader() {
  const scan = createHeaderEndFinder();
  const chunks = createChunks();
  let foundHeader: Uint8Array | undefined;

  return {
    isWhole: () => foundHeader !== undefined,
    push(chunk: Uint8Array) {
      if (foundHeader !== undefined) return;
      chunks.push(chunk);
      const end = scan.push(chunk);
      if ((end ?? chunks.byteLength()) > HEADER_LIMITS.maxBytes + PREFIX_HEADROOM_BYTES)
        throw mailErrors.cannotParse({ why: `the header section is larger than ${HEADER_LIMITS.maxBytes} bytes` });
      if (end !== undefined) foundHeader = chunks.take(end);
    },
    /** A message without an empty line is all header. */
    end: () => (foundHeader ??= chunks.take()),
  };
}
