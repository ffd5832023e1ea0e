import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { UserError } from "../../kernel/index.ts";
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

  it("that cannot be written are the machine's fault, and nothing of them stays", (t) => {
    const root = mkdtempSync(join(tmpdir(), "reelpost-folders-"));
    t.after(() => rmSync(root, { recursive: true }));
    const folders = createRunFolders({}, root);
    assert.throws(() => folders.create(new Map([["a", "1"], ["none/b", "2"]])), (err: UserError) => err.kind === "machineFailed" && /ENOENT/.test(err.message));
    assert.deepEqual(readdirSync(join(root, readdirSync(root)[0]!)), []);
    folders.close();
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
