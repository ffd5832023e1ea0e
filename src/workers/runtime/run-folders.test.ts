import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { createRunFolders } from "./run-folders.ts";

/** A process that has ended. */
const deadPid = () => spawnSync(process.execPath, ["--version"]).pid;

describe("run folders", () => {
  it("sweep what a dead server left behind, and nothing else", (t) => {
    const root = mkdtempSync(join(tmpdir(), "reelpost-folders-"));
    t.after(() => rmSync(root, { recursive: true }));
    const [dead, alive, other] = [`reelpost-run-${deadPid()}-a`, `reelpost-run-${process.pid}-b`, "something"].map((name) => join(root, name));
    for (const folder of [dead!, alive!, other!]) mkdirSync(folder);
    createRunFolders({}, root).close();
    assert.deepEqual([dead!, alive!, other!].map((folder) => existsSync(folder)), [false, true, true]);
  });

  it("leave alone what another user left behind", { skip: process.getuid?.() !== 0 && "needs root, to become somebody else" }, (t) => {
    const root = mkdtempSync(join(tmpdir(), "reelpost-folders-"));
    t.after(() => {
      process.seteuid!(0);
      rmSync(root, { recursive: true });
    });
    const theirs = join(root, `reelpost-run-${deadPid()}-a`);
    mkdirSync(join(theirs, "0"), { recursive: true });
    chmodSync(root, 0o1777);
    process.seteuid!(65534);
    createRunFolders({}, root).close();
    assert.ok(existsSync(theirs));
  });
});
