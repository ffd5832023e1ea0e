import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { createScratch } from "./scratch.ts";

test("removes the files of dead processes, even of one that had our pid, and keeps those of live processes", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-scratch-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const scratch = createScratch(folder);
  const { path, remove } = await scratch.create("encode");
  const dead = spawnSync(process.execPath, ["-e", ""]).pid;
  const others = [`captions-${process.ppid}-0123abcd-x`, "notes", `encode-${dead}`];
  for (const name of [...others, `mezzanine-${dead}-0123abcd-x`, `encode-${process.pid}-0123abcd-x`]) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "file"), "left");
  }
  await scratch.sweep();
  assert.deepEqual(readdirSync(folder).sort(), [...others, basename(path)].sort());
  await remove();
  assert.ok(!readdirSync(folder).includes(basename(path)));
  await createScratch(join(folder, "none")).sweep();
});
