import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { UserError } from "../kernel/index.ts";
import { lockDataDirectory } from "./data-lock.ts";

const folder = async (t: { after: (f: () => Promise<void>) => void }) => {
  const path = await mkdtemp(join(tmpdir(), "reelpost-lock-"));
  t.after(() => rm(path, { recursive: true }));
  return path;
};

it("refuses a second server in this process until the first one stops", async (t) => {
  const directory = await folder(t);
  const first = lockDataDirectory(directory);
  assert.throws(
    () => lockDataDirectory(directory),
    (err: unknown) =>
      err instanceof UserError && err.message.includes(`process ${process.pid}`) && err.message.includes(directory),
  );
  first.release();
  lockDataDirectory(directory).release();
});

it("is held by a running process, and released when the process is killed", async (t) => {
  const directory = await folder(t);
  const script = `const { lockDataDirectory } = await import(${JSON.stringify(join(import.meta.dirname, "data-lock.ts"))});
    lockDataDirectory(${JSON.stringify(directory)}); console.log("held"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  assert.throws(() => lockDataDirectory(directory), new RegExp(`process ${child.pid}`));
  child.kill("SIGKILL");
  await once(child, "exit");
  lockDataDirectory(directory).release();
});

it("is refused while the supervisor of several processes runs, except to these processes", async (t) => {
  const directory = await folder(t);
  await mkdir(join(directory, "processes"));
  const supervisor = lockDataDirectory(join(directory, "processes"));
  assert.throws(() => lockDataDirectory(directory), new RegExp(`process ${process.pid}`));
  lockDataDirectory(directory, { isSupervised: true }).release();
  supervisor.release();
  lockDataDirectory(directory).release();
});
