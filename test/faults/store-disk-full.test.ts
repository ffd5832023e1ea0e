import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

const CHILD = join(import.meta.dirname, "store-disk-full.child.ts");

test("a full disk causes a clear error and nothing half-written, and everything works again once there is space", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-full-"));
  const mounted = mountSmallDisk(folder);
  t.after(() => {
    if (mounted) spawnSync("umount", ["-l", folder]);
    rmSync(folder, { recursive: true, force: true });
  });
  if (!mounted) t.diagnostic("cannot mount a small disk here: the test limits the size of each file instead");
  const order = JSON.stringify({ folder, limit: mounted ? "disk" : "file" });
  // 4096 blocks of 512 bytes (POSIX, dash) or 1024 bytes (bash).
  const command = mounted
    ? [process.execPath, CHILD, order]
    : ["/bin/sh", "-c", 'ulimit -f 4096 && exec "$0" "$@"', process.execPath, CHILD, order];
  const { stderr } = await promisify(execFile)(command[0]!, command.slice(1), { timeout: 110_000, maxBuffer: 1 << 20 });
  assert.equal(stderr, "");
});

/** Mounts a 6 MB disk on `folder`; returns true on success. Requires root, and a container that allows mounting. */
function mountSmallDisk(folder: string): boolean {
  return (
    process.platform === "linux" && spawnSync("mount", ["-t", "tmpfs", "-o", "size=6m", "tmpfs", folder]).status === 0
  );
}
