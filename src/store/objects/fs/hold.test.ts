import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, unlinkSync, utimesSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { isStoreError } from "../../errors.ts";
import { openFsObjects } from "./fs.ts";
import { holdObjects, type ObjectHold } from "./hold.ts";

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-hold-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function contentsOf(hold: ObjectHold): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for await (const { name } of hold.list()) contents[name] = await readFile(await hold.pathOf(name), "utf8");
  return contents;
}

async function* bytes(text: string) {
  yield Buffer.from(text);
}

test("a hold shows deleted, replaced and completed objects as they were when it started", async (t) => {
  const folder = temporary(t);
  const objects = await openFsObjects({ folder });
  for (const key of ["a/deleted", "a/replaced", "a/copied", "a/linked", "kept"])
    await objects.put(key, Buffer.from(`${key} 1`));
  const completed = objects.partial("p/completed");
  await completed.append(0, bytes("first half"));
  const discarded = objects.partial("p/discarded");
  await discarded.append(0, bytes("some bytes"));

  const hold = holdObjects(folder);
  const before = await contentsOf(hold);
  await objects.delete(["a/deleted", "absent"]);
  for (const version of [2, 3]) await objects.put("a/replaced", Buffer.from(`version ${version}`));
  await objects.copy("kept", "a/copied");
  await objects.putFile("a/linked", join(folder, "kept"));
  await completed.complete(10);
  await discarded.discard();
  const after = await contentsOf(hold);
  for (const [name, content] of Object.entries(before)) assert.equal(after[name], content, name);
  assert.equal(after["p/completed"], "first half");
  hold.check();

  await hold.close();
  assert.ok(!existsSync(join(folder, ".held")));
  await objects.delete(["kept"]);
  assert.ok(!existsSync(join(folder, ".held")), "nothing is held without a backup");
  assert.equal((await (await objects.open("a/replaced"))!.bytes()).toString(), "version 3");
});

test("a second hold is rejected until the marker of the first one expires", (t) => {
  const folder = temporary(t);
  const first = holdObjects(folder);
  t.after(() => first.close());
  assert.throws(
    () => holdObjects(folder),
    (err) => isStoreError(err, "holdInUse"),
  );
  const longAgo = new Date(Date.now() - 180_000);
  utimesSync(join(folder, ".held", "mark"), longAgo, longAgo);
  t.after(() => holdObjects(folder).close());
});

test("an interrupted backup stops retaining deleted files, and the next start removes those that it retained", async (t) => {
  const folder = temporary(t);
  const objects = await openFsObjects({ folder });
  for (const key of ["a", "b"]) await objects.put(key, Buffer.from(key));
  const hold = holdObjects(folder);
  t.after(() => hold.close());
  await objects.delete(["a"]);
  const longAgo = new Date(Date.now() - 180_000);
  utimesSync(join(folder, ".held", "mark"), longAgo, longAgo);
  await objects.delete(["b"]);
  assert.ok(existsSync(join(folder, ".held/files/a")));
  assert.ok(!existsSync(join(folder, ".held/files/b")));
  await openFsObjects({ folder });
  assert.ok(!existsSync(join(folder, ".held")));
});

test("check() throws if the hold was lost", async (t) => {
  const folder = temporary(t);
  const hold = holdObjects(folder);
  t.after(() => hold.close());
  hold.check();
  unlinkSync(join(folder, ".held", "mark"));
  assert.throws(
    () => hold.check(),
    (err) => isStoreError(err, "holdLost"),
  );
});
