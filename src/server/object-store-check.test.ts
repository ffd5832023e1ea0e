import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { randomIds } from "../kernel/index.ts";
import { openFsObjects, storeErrors, type ObjectStore } from "../store/index.ts";
import { checkObjectStore, createObjectStoreProbe } from "./object-store-check.ts";
import { OBJECT_STORE_ID_KEY } from "./storage-identity.ts";

async function openFolder(t: TestContext): Promise<ObjectStore> {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-check-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return openFsObjects({ folder });
}

test("the check of an object store requires the object with its id", async (t) => {
  const checked = { objects: await openFolder(t), ids: randomIds };
  await assert.rejects(checkObjectStore(checked), /does not respond: the object with its id is missing/);
  await checked.objects.put(OBJECT_STORE_ID_KEY, Buffer.from("id"));
  assert.ok((await checkObjectStore(checked)) >= 0);
});

test("the write check deletes the object that it stored, even if a listing omits it", async (t) => {
  const objects = await openFolder(t);
  await objects.put(OBJECT_STORE_ID_KEY, Buffer.from("id"));
  await checkObjectStore({ objects, ids: randomIds }, { writes: true });
  const forgetful = { ...objects, list: async function* () {} } as ObjectStore;
  await assert.rejects(checkObjectStore({ objects: forgetful, ids: randomIds }, { writes: true }), /is not listed/);
  const keys: string[] = [];
  for await (const { key } of objects.list("")) keys.push(key);
  assert.deepEqual(keys, [OBJECT_STORE_ID_KEY]);
});

test("the write check reports why an object cannot be stored, and does not affect readiness", async (t) => {
  const objects = await openFolder(t);
  await objects.put(OBJECT_STORE_ID_KEY, Buffer.from("id"));
  const full = storeErrors.bucketFull({ address: "https://s3.example", what: "an object" });
  const checked = { objects: { ...objects, put: () => Promise.reject(full) }, ids: randomIds };
  await assert.rejects(checkObjectStore(checked, { writes: true }), full);
  assert.ok((await createObjectStoreProbe(checked).check()) >= 0);
});
