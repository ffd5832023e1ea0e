import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openFsObjects } from "./fs/fs.ts";
import { writeOnceObjects } from "./write-once.testing.ts";

test("the write-once store rejects different bytes under an existing key, and fails the test even if the error is caught", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-once-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const thrown: string[] = [];
  t.mock.method(globalThis, "queueMicrotask", (report: () => void) => {
    try {
      report();
    } catch (err) {
      thrown.push((err as Error).message);
    }
  });
  const objects = writeOnceObjects(await openFsObjects({ folder }));
  await objects.put("a", Buffer.from("one"));
  await objects.put("a", Buffer.from("one"));
  await objects.delete(["a"]);
  await objects.put("a", Buffer.from("one"));
  await objects.put("b", Buffer.from("two"));
  const file = join(folder, "file");
  writeFileSync(file, "three");
  const partial = objects.partial("a");
  async function* bytes() {
    yield Buffer.from("four");
  }
  await partial.append(0, bytes());
  for (const write of [
    () => objects.put("a", Buffer.from("other")),
    () => objects.copy("b", "a"),
    () => objects.putFile("a", file),
    () => partial.complete(4),
  ])
    await assert.rejects(write(), /the object a was stored twice with different bytes/);
  assert.equal(thrown.length, 4);
});
