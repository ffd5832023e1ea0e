import { close, open, read, write } from "node:fs";
import { unlink } from "node:fs/promises";
import { promisify } from "node:util";
import { Fault } from "../../../kernel/index.ts";
import { fromFs } from "../fs/errors.ts";

const [openAsync, closeAsync, readAsync, writeAsync] = [
  promisify(open),
  promisify(close),
  promisify(read),
  promisify(write),
];

/** Collects the bytes of one part of a multipart upload. */
export interface Spool {
  readonly size: number;
  /** Appends a copy of the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Resolves with the collected bytes, and empties the spool. */
  take(): Promise<Buffer>;
  close(): Promise<void>;
}

/** Maximum bytes that all spools of a process together keep in memory, even with many slow uploads. */
const MEMORY_BYTES = 64 * 1024 * 1024;
/** Each spool keeps this much in memory in any case, because most bodies are small. */
const OWN_MEMORY_BYTES = 256 * 1024;
const BLOCK_BYTES = 64 * 1024;

/** Returns a function that creates spools. When their shared memory is used up, they use temporary files. */
export function createSpools(tempFile: () => string, memoryBytes = MEMORY_BYTES): () => Spool {
  let sharedBytes = 0;

  return () => {
    let size = 0;
    /** All blocks are full except for the last one. */
    let blocks: { bytes: Buffer; used: number }[] = [];
    let blockBytes = 0;
    let file: { fd: number; path: string } | undefined;
    let fileBytes = 0;

    function resize(bytes: number): void {
      sharedBytes += bytes - blockBytes;
      blockBytes = bytes;
    }

    function copyToBlocks(bytes: Uint8Array): void {
      for (let done = 0; done < bytes.length;) {
        let block = blocks.at(-1);
        if (block === undefined || block.used === block.bytes.length) {
          block = { bytes: Buffer.allocUnsafeSlow(Math.max(BLOCK_BYTES, bytes.length - done)), used: 0 };
          blocks.push(block);
          resize(blockBytes + block.bytes.length);
        }
        const taken = bytes.subarray(done, done + block.bytes.length - block.used);
        block.bytes.set(taken, block.used);
        block.used += taken.length;
        done += taken.length;
      }
    }

    const inMemory = () => blocks.map(({ bytes, used }) => bytes.subarray(0, used));

    async function moveToFile(): Promise<void> {
      const path = tempFile();
      try {
        file ??= { fd: await openAsync(path, "wx+", 0o600), path };
        for (const bytes of inMemory()) {
          for (let done = 0; done < bytes.length;) {
            const { bytesWritten } = await writeAsync(file.fd, bytes, done, bytes.length - done, fileBytes);
            done += bytesWritten;
            fileBytes += bytesWritten;
          }
        }
      } catch (err) {
        throw fromFs(err, path);
      }
      clearBlocks();
    }

    function clearBlocks(): void {
      blocks = [];
      resize(0);
    }

    return {
      get size() {
        return size;
      },
      async write(bytes) {
        copyToBlocks(bytes);
        size += bytes.length;
        if (sharedBytes > memoryBytes && blockBytes > OWN_MEMORY_BYTES) await moveToFile();
      },
      async take() {
        const memory = inMemory();
        let whole: Buffer;
        if (fileBytes === 0) {
          whole = memory.length === 1 ? memory[0]! : Buffer.concat(memory);
        } else {
          whole = Buffer.allocUnsafeSlow(size);
          for (let done = 0; done < fileBytes;) {
            const { bytesRead } = await readAsync(file!.fd, whole, done, fileBytes - done, done);
            if (bytesRead === 0) throw new Fault("a temporary file is shorter than the data written to it");
            done += bytesRead;
          }
          let position = fileBytes;
          for (const bytes of memory) position += bytes.copy(whole, position);
        }
        [size, fileBytes] = [0, 0];
        clearBlocks();
        return whole;
      },
      async close() {
        clearBlocks();
        if (file === undefined) return;
        const { fd, path } = file;
        file = undefined;
        await closeAsync(fd);
        await unlink(path).catch(() => {});
      },
    };
  };
}
