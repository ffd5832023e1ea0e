import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { collect } from "../requests.ts";
import { countLines, createFiles, linesWithOffsets } from "./files.ts";

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-export-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test("a file is written completely or not at all", async (t) => {
  const root = await folderOf(t);
  const files = createFiles(root);
  await files.prepare();
  await files.write("a/b.txt", ["complete"], new Date("2026-01-02T03:04:05Z"));
  async function* broken() {
    yield "part";
    throw new Error("connection lost");
  }
  await assert.rejects(files.write("a/b.txt", broken()), /connection lost/);
  await assert.rejects(files.write("a/c.txt", broken()));
  assert.equal(await readFile(join(root, "a/b.txt"), "utf8"), "complete");
  assert.equal((await stat(join(root, "a/b.txt"))).mode & 0o777, 0o600);
  assert.equal(files.find("a/b.txt")?.stats.mtime.toISOString(), "2026-01-02T03:04:05.000Z");
  assert.equal(files.find("a/c.txt"), undefined);
  assert.deepEqual(await readdir(join(root, ".unfinished")), []);
  await files.finish();
  assert.deepEqual(await readdir(root), ["a"]);
});

test("a file and a folder with the same name can coexist, regardless of which is written first", async (t) => {
  const files = createFiles(await folderOf(t));
  await files.prepare();
  await files.write("a", ["file a"]);
  await files.write("a/b", ["file b"]);
  await files.write("a/b/c", ["file c"]);
  await files.write("x/y", ["file y"]);
  await files.write("x", ["file x"]);
  const contents = await Promise.all(
    ["a", "a/b", "a/b/c", "x", "x/y"].map((path) => readFile(files.find(path)!.path, "utf8")),
  );
  assert.deepEqual(contents, ["file a", "file b", "file c", "file x", "file y"]);
});

test("returns the byte offset of each line and can start reading at any of them", async (t) => {
  const path = join(await folderOf(t), "lines");
  const lines = ["ä", "", "x".repeat(200_000), "last"];
  await writeFile(path, `${lines.join("\n")}\n`);
  const found = await collect(linesWithOffsets(path));
  assert.deepEqual(
    found.map(({ line }) => line.toString()),
    lines,
  );
  assert.deepEqual(
    found.map(({ start }) => start),
    [0, 3, 4, 200_005],
  );
  assert.deepEqual(
    (await collect(linesWithOffsets(path, 200_005))).map(({ line }) => line.toString()),
    ["last"],
  );
  assert.equal(await countLines(path), 4);
});
