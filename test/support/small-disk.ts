import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Scope } from "../e2e/serve-client.ts";

interface SmallDisk {
  /** An empty directory on the disk. */
  folder: string;
  /** Fills the free space. */
  fill(): void;
  free(): void;
}

/**
 * Returns a disk of this many MiB; undefined if it cannot be mounted because the system is not Linux or permission is
 * missing.
 */
export function mountSmallDisk(t: Scope, megabytes: number): SmallDisk | undefined {
  const at = mkdtempSync(join(tmpdir(), "reelpost-small-disk-"));
  const mounted =
    process.platform === "linux" &&
    spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", at]).status === 0;
  t.after(async () => {
    if (mounted) spawnSync("umount", ["-l", at]);
    rmSync(at, { recursive: true, force: true, maxRetries: 5 });
  });
  if (!mounted) return undefined;
  const ballast = join(at, "ballast");
  const folder = join(at, "data");
  mkdirSync(folder, { mode: 0o700 });
  return {
    folder,
    fill() {
      const fd = openSync(ballast, "w");
      for (const size of [1 << 20, 4096]) {
        try {
          for (;;) writeSync(fd, Buffer.alloc(size));
        } catch (err) {
          assert.equal((err as NodeJS.ErrnoException).code, "ENOSPC");
        }
      }
      closeSync(fd);
    },
    free: () => unlinkSync(ballast),
  };
}
