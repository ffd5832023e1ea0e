import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { systemClock } from "../kernel/index.ts";
import { lockDataDirectory } from "./data-lock.ts";
import { openLocalStorage } from "./local-storage.ts";

const folder = async (t: TestContext) => {
  const path = await mkdtemp(join(tmpdir(), "reelpost-local-"));
  t.after(() => rm(path, { recursive: true }));
  return path;
};

it("rejects a directory that is locked by a process that serves no storage API", async (t) => {
  const dataDir = await folder(t);
  const lock = lockDataDirectory(dataDir);
  await assert.rejects(openLocalStorage({ dataDir, clock: systemClock, lockTimeoutMs: 0 }), {
    kind: "localStorageBusy",
  });
  lock.release();
});

it("ignores the storage.json of a process that no longer holds the lock", async (t) => {
  const dataDir = await folder(t);
  await writeFile(join(dataDir, "storage.json"), JSON.stringify({ url: "http://127.0.0.1:1", token: "t", pid: "1" }));
  const lock = lockDataDirectory(dataDir);
  await assert.rejects(openLocalStorage({ dataDir, clock: systemClock, lockTimeoutMs: 0 }), {
    kind: "localStorageBusy",
  });
  lock.release();
});

it("waits until another command has released the directory, and releases it afterwards", async (t) => {
  const dataDir = await folder(t);
  const firstStorage = await openLocalStorage({ dataDir, clock: systemClock });
  const secondStorage = openLocalStorage({ dataDir, clock: systemClock });
  await firstStorage.close();
  await (await secondStorage).close();
  lockDataDirectory(dataDir).release();
});
