import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { memoryFolder } from "../../scripts/memory-folder.ts";

/** A process id that no process can have: the largest one of Linux is below 2^22. */
const DEAD = 2 ** 22 + 1;

test("removes the folder of a killed run, even with a mounted file system in it", (t) => {
  const left = `/dev/shm/rp-tests-${DEAD}-left`;
  const mount = join(left, "disk");
  if (!existsSync("/dev/shm")) return void assert.equal(memoryFolder(), undefined);
  mkdirSync(mount, { recursive: true });
  const mounted = spawnSync("mount", ["-t", "tmpfs", "tmpfs", mount], { stdio: "ignore" }).status === 0;
  t.diagnostic(mounted ? "mounted" : "this user cannot mount");
  writeFileSync(join(mount, "file"), "x");
  const folder = memoryFolder();
  t.after(() => folder?.remove());
  assert.equal(existsSync(left), false);
});
