import { open, unlink } from "node:fs/promises";
import { toFsStoreError } from "../fs/errors.ts";
import type { FileLease } from "../port.ts";
import type { OpenedS3Object } from "./read.ts";

const BLOCK_BYTES = 4 * 1024 * 1024;
const BLOCKS_AT_ONCE = 4;

/** Downloads an object to a temporary file, which release() deletes. */
export async function leaseDownload(object: OpenedS3Object, key: string, path: string): Promise<FileLease> {
  const file = await open(path, "wx", 0o600).catch((err: unknown) => {
    throw toFsStoreError(err, key);
  });
  let next = 0;
  const copyBlocks = async () => {
    for (let start = next; start < object.size; start = next) {
      next = start + BLOCK_BYTES;
      const block = await object.range(start, Math.min(next, object.size) - 1);
      for (let done = 0; done < block.length;) {
        const { bytesWritten } = await file
          .write(block, done, block.length - done, start + done)
          .catch((err: unknown) => Promise.reject(toFsStoreError(err, key)));
        done += bytesWritten;
      }
    }
  };
  const copies = Array.from({ length: BLOCKS_AT_ONCE }, copyBlocks);
  try {
    await Promise.all(copies);
  } catch (err) {
    next = object.size;
    await Promise.allSettled(copies);
    await file.close();
    await unlink(path).catch(() => {});
    throw err;
  }
  await file.close();
  let isReleased = false;
  return {
    path,
    release() {
      if (isReleased) return;
      isReleased = true;
      void unlink(path).catch(() => {});
    },
  };
}
