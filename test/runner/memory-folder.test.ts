import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { memoryFolder } from "../../scripts/memory-folder.ts";

/** A process id that no process can have: the largest one of Linux is below 2^22. */
const DEAD = 2 ** 22 + 1;

test("removes the folder of a killed run, even with a mounted file system in it", (t) => {
  if (!existsSync("/dev/shm")) return void assert.equal(memoryFolder(), undefined);
  // Another run of the tests would remove the folder, too.
  const sharedMemory = mkdtempSync("/dev/shm/reelpost-folder-");
  t.after(() => rmSync(sharedMemory, { recursive: true, force: true }));
  const left = join(sharedMemory, `rp-tests-${DEAD}-left`);
  const mount = join(left, "disk");
  mkdirSync(mount, { recursive: true });
  const mounted = spawnSync("mount", ["-t", "tmpfs", "tmpfs", mount], { stdio: "ignore" }).status === 0;
  t.diagnostic(mounted ? "mounted" : "this user cannot mount");
  writeFileSync(join(mount, "file"), "x");
  memoryFolder(sharedMemory);
  assert.equal(existsSync(left), false);
});
