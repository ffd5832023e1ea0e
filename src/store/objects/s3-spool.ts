import { close, open, read, write } from "node:fs";
import { unlink } from "node:fs/promises";
import { promisify } from "node:util";
import { Fault } from "../../kernel/index.ts";
import { fromFs } from "./fs-errors.ts";

const [openAsync, closeAsync, readAsync, writeAsync] = [
  promisify(open),
  promisify(close),
  promisify(read),
  promisify(write),
];

/** Collects the bytes of one part, in memory at first and then in a temporary file: slow sources do not fill memory. */
export interface Spool {
  readonly size: number;
  /** Copies the bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Returns the collected bytes and becomes empty. */
  take(): Promise<Buffer>;
  close(): Promise<void>;
}

const MEMORY_BYTES = 1024 * 1024;

export function createSpool(tempFile: () => string): Spool {
  let size = 0;
  let memory: Buffer[] = [];
  let memoryBytes = 0;
  let file: { fd: number; path: string } | undefined;
  /** Bytes of the current part in the file. */
  let fileBytes = 0;

  async function flush(): Promise<void> {
    const path = tempFile();
    try {
      file ??= { fd: await openAsync(path, "wx+", 0o600), path };
      for (const bytes of memory) {
        for (let done = 0; done < bytes.length;) {
          const { bytesWritten } = await writeAsync(file.fd, bytes, done, bytes.length - done, fileBytes);
          done += bytesWritten;
          fileBytes += bytesWritten;
        }
      }
    } catch (err) {
      throw fromFs(err, path);
    }
    memory = [];
    memoryBytes = 0;
  }

  return {
    get size() {
      return size;
    },
    async write(bytes) {
      memory.push(Buffer.from(bytes));
      memoryBytes += bytes.length;
      size += bytes.length;
      if (memoryBytes > MEMORY_BYTES) await flush();
    },
    async take() {
      const bytes = fileBytes === 0 ? Buffer.concat(memory) : Buffer.allocUnsafeSlow(size);
      if (fileBytes > 0) {
        for (let done = 0; done < fileBytes;) {
          const { bytesRead } = await readAsync(file!.fd, bytes, done, fileBytes - done, done);
          if (bytesRead === 0) throw new Fault("a temporary file is shorter than what was written to it");
          done += bytesRead;
        }
        let position = fileBytes;
        for (const chunk of memory) position += chunk.copy(bytes, position);
      }
      [size, memory, memoryBytes, fileBytes] = [0, [], 0, 0];
      return bytes;
    },
    async close() {
      if (file === undefined) return;
      const { fd, path } = file;
      file = undefined;
      await closeAsync(fd);
      await unlink(path).catch(() => {});
    },
  };
}
