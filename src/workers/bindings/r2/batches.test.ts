import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createManualClock } from "../../../kernel/index.ts";
import { migrate, openFsObjects, openSqlite } from "../../../store/index.ts";
import { createR2Buckets } from "./buckets.ts";
import { r2Migrations } from "./r2-table.ts";

test("a deletion of many objects is committed in batches, and an object of several parts on its own", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "r2-batches-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, r2Migrations);
  const batches: string[][] = [];
  const r2 = createR2Buckets({
    db,
    objects: await openFsObjects({ folder: join(folder, "objects") }),
    clock: createManualClock(0),
    limits: { minimumPartBytes: 1 },
    async onChange({ action, objects }) {
      if (action === "DeleteObject" || action === "LifecycleDeletion") batches.push(objects.map(({ key }) => key));
    },
  });
  t.after(async () => {
    await r2.close();
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const keys = Array.from({ length: 300 }, (_, index) => `key-${index}`);
  const fill = async () => {
    for (const key of keys) await r2.put("bucket", key, Buffer.from("v"));
    for (const key of ["parts-1", "parts-2"]) {
      const upload = await r2.createUpload("bucket", key);
      await r2.completeUpload("bucket", upload, [await r2.uploadPart("bucket", upload, 1, Buffer.from("part"))]);
    }
  };
  const sizes = () => batches.splice(0).map(({ length }) => length);

  await fill();
  const removed = await r2.delete("bucket", ["parts-1", ...keys, "parts-2", "absent", "parts-1"]);
  assert.deepEqual(removed.toSorted(), [...keys, "parts-1", "parts-2"].toSorted());
  assert.deepEqual(sizes(), [249, 1, 51, 1]);

  await fill();
  const { objects } = await r2.list("bucket");
  await r2.expire(
    "bucket",
    objects.map(({ version }) => version),
  );
  assert.deepEqual(sizes(), [250, 50, 1, 1]);
  assert.deepEqual((await r2.list("bucket")).objects, []);
});
