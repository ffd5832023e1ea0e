import { close, open, read, write } from "node:fs";
import { unlink } from "node:fs/promises";
import { promisify } from "node:util";
import { Fault } from "../../../kernel/index.ts";
import { toFsStoreError } from "../fs/errors.ts";
import { PART_BYTES } from "./multipart.ts";

const [openAsync, closeAsync, readAsync, writeAsync] = [
  promisify(open),
  promisify(close),
  promisify(read),
  promisify(write),
];

/** Collects the bytes of one part of a multipart upload. */
export interface PartSpool {
  readonly size: number;
  /** Appends a copy of the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves with the collected bytes, and empties the spool. */
  take(): Promise<Buffer>;
  /** Takes back a result of take() that is no longer needed, so that its memory can be reused. */
  recycle(bytes: Buffer): void;
  close(): Promise<void>;
}

const EMPTY: Buffer = Buffer.alloc(0);

/**
 * Maximum number of bytes that all spools of a process together keep in memory. Many slow uploads must not fill the
 * memory.
 */
const MEMORY_BYTES = 64 * 1024 * 1024;
/** Each spool keeps this much in memory in any case, because most bodies are small. */
const OWN_MEMORY_BYTES = 256 * 1024;
/**
 * Buffer sizes: the bytes are copied only when a body outgrows one of them. The operating system provides each page of
 * the largest buffer only when it is first written.
 */
const CAPACITIES = [64 * 1024, OWN_MEMORY_BYTES, PART_BYTES];

/** Maximum number of buffers, each of one part, that are kept for reuse. */
const MAX_FREE_BUFFERS = 4;
const FREE_BUFFERS_MS = 10_000;

/**
 * Reuses the buffers of parts: allocating one costs thousands of page faults, and the garbage collector runs after
 * every few parts, because they are a large fraction of the memory.
 */
function createPartBuffers() {
  const free: Buffer[] = [];
  let timer: NodeJS.Timeout | undefined;

  return {
    /** At least this many bytes. */
    take: (bytes: number): Buffer =>
      (bytes > OWN_MEMORY_BYTES && bytes <= PART_BYTES ? free.pop() : undefined) ??
      Buffer.allocUnsafeSlow(
        CAPACITIES.find((capacity) => capacity >= bytes) ?? Math.ceil(bytes / PART_BYTES) * PART_BYTES,
      ),
    put({ buffer }: Buffer): void {
      if (buffer.byteLength !== PART_BYTES || free.length >= MAX_FREE_BUFFERS) return;
      free.push(Buffer.from(buffer));
      if (timer === undefined) timer = setTimeout(() => free.splice(0), FREE_BUFFERS_MS).unref();
      else timer.refresh();
    },
  };
}

/** Returns a function that creates spools. When their shared memory is used up, they use temporary files. */
export function createSpools(tempFile: () => string, memoryBytes = MEMORY_BYTES): () => PartSpool {
  let sharedBytes = 0;
  const buffers = createPartBuffers();

  return () => {
    let size = 0;
    let memory = EMPTY;
    let used = 0;
    let file: { fd: number; path: string } | undefined;
    let fileBytes = 0;
    /** A body that has filled one part often fills the next one. */
    let firstCapacity = 0;

    function copyToMemory(bytes: Uint8Array): void {
      if (used + bytes.length > memory.length) {
        const larger = buffers.take(Math.max(firstCapacity, used + bytes.length));
        memory.copy(larger, 0, 0, used);
        buffers.put(memory);
        memory = larger;
      }
      memory.set(bytes, used);
      used += bytes.length;
      sharedBytes += bytes.length;
    }

    function clearMemory(): void {
      sharedBytes -= used;
      [memory, used] = [EMPTY, 0];
    }

    async function moveToFile(): Promise<void> {
      const path = tempFile();
      try {
        file ??= { fd: await openAsync(path, "wx+", 0o600), path };
        for (let done = 0; done < used;) {
          const { bytesWritten } = await writeAsync(file.fd, memory, done, used - done, fileBytes);
          done += bytesWritten;
          fileBytes += bytesWritten;
        }
      } catch (err) {
        throw toFsStoreError(err, path);
      }
      buffers.put(memory);
      clearMemory();
    }

    return {
      get size() {
        return size;
      },
      async write(bytes) {
        copyToMemory(bytes);
        size += bytes.length;
        if (sharedBytes > memoryBytes && used > OWN_MEMORY_BYTES) await moveToFile();
      },
      async take() {
        let whole: Buffer = memory.subarray(0, used);
        if (fileBytes > 0) {
          whole = buffers.take(size).subarray(0, size);
          for (let done = 0; done < fileBytes;) {
            const { bytesRead } = await readAsync(file!.fd, whole, done, fileBytes - done, done);
            if (bytesRead === 0) throw new Fault("a temporary file is shorter than the data written to it");
            done += bytesRead;
          }
          memory.copy(whole, fileBytes, 0, used);
          buffers.put(memory);
        }
        firstCapacity = fileBytes === 0 && size === PART_BYTES ? PART_BYTES : 0;
        [size, fileBytes] = [0, 0];
        clearMemory();
        return whole;
      },
      recycle: buffers.put,
      async close() {
        buffers.put(memory);
        clearMemory();
        if (file === undefined) return;
        const { fd, path } = file;
        file = undefined;
        await closeAsync(fd);
        await unlink(path).catch(() => {});
      },
    };
  };
}
