import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { openRunFolder, prepareDataDirectory } from "./data-directory.ts";

function folder(t: TestContext) {
  const path = mkdtempSync(join(tmpdir(), "reelpost-data-directory-"));
  t.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

it("creates a data directory that only the owner can read and git ignores", (t) => {
  const directory = join(folder(t), "project", ".reelpost");
  prepareDataDirectory(directory);
  prepareDataDirectory(directory);
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  assert.equal(readFileSync(join(directory, ".gitignore"), "utf8"), "*\n");
});

it("names the folder of a run after its start time, and keeps only the last 50", (t) => {
  const parent = join(folder(t), "mail");
  const start = Date.UTC(2026, 0, 2, 3, 4, 5);
  assert.equal(openRunFolder(parent, start), join(parent, "2026-01-02T03-04-05.000Z"));
  for (let i = 0; i < 53; i++) mkdirSync(openRunFolder(parent, start + i * 1000));
  const runs = readdirSync(parent).sort();
  assert.equal(runs.length, 51);
  assert.equal(runs[0], "2026-01-02T03-04-07.000Z");
  assert.equal(runs.at(-1), "2026-01-02T03-04-57.000Z");
});
