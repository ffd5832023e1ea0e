import { closeSync, mkdirSync, open, rmSync } from "node:fs";
import { join } from "node:path";

/** An empty file that is not in use yet, open for writing. */
export interface SpareFile {
  fd: number;
  path: string;
}

export interface SpareFiles {
  /** Undefined if no file is ready: the caller then creates its own. */
  take(): SpareFile | undefined;
  /** Discards prepared files after their folder was deleted. */
  renew(): void;
  close(): void;
}

/**
 * Creates empty files ahead of time, in the thread pool. Creating a file is by far the most expensive step of writing a
 * small one (0.3 to 0.6 ms on ext4 alongside a database that syncs, where write and rename take 0.02 ms), and the only
 * one that is possible before the content is known. `dir` is emptied and created on first use; it must be on the same
 * file system as the final files.
 */
export function createSpareFiles({ dir, keep = 32 }: { dir: string; keep?: number }): SpareFiles {
  const readyFiles: SpareFile[] = [];
  let isCreating = false;
  let count = 0;
  let closed = false;

  function refill() {
    if (closed) return;
    if (count === 0) {
      rmSync(dir, { recursive: true, force: true });
      mkdirSync(dir, { recursive: true, mode: 0o700 });
    }
    if (!isCreating && readyFiles.length <= keep / 2) create();
  }

  /** Sequential, because threads that create files in the same folder would wait for its lock. */
  function create() {
    isCreating = true;
    const path = join(dir, String(count++));
    open(path, "wx", 0o600, (err, fd) => {
      isCreating = false;
      // A full disk or a deleted folder is reported by the next writer, not here.
      if (err) return;
      readyFiles.push({ fd, path });
      if (closed) discard();
      else if (readyFiles.length < keep) create();
    });
  }

  function forget() {
    for (const { fd } of readyFiles.splice(0)) closeSync(fd);
  }

  function discard() {
    forget();
    if (!isCreating) rmSync(dir, { recursive: true, force: true });
  }

  return {
    take() {
      const spare = readyFiles.pop();
      refill();
      return spare;
    },
    renew() {
      forget();
      count = 0;
    },
    close() {
      closed = true;
      discard();
    },
  };
}
