import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";

test("a process without free descriptors fails to start programs, reports it, and keeps running", async () => {
  const child = join(import.meta.dirname, "no-descriptors.child.ts");
  const { stdout } = await promisify(execFile)("prlimit", ["--nofile=128", "--", process.execPath, child], {
    timeout: 110_000,
  });
  const { run, live, answered, lost } = JSON.parse(stdout) as Record<string, string>;
  for (const text of [run, live, lost]) assert.match(text!, /EMFILE/);
  assert.match(answered!, /could not be started|EMFILE/);
});
