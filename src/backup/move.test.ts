import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { onPostgres } from "../../test/support/databases.ts";
import { onS3 } from "../../test/support/radosgw.ts";
import { UserError } from "../kernel/index.ts";
import { openFsObjects, openPostgres, type ObjectStore } from "../store/index.ts";
import { createData, migrations, createTestFolder } from "./backup.testing.ts";
import { cancelMove, moveData } from "./move.ts";

const contentsOf = async (store: ObjectStore) => {
  const contents = new Map<string, string>();
  for await (const { key } of store.list("")) contents.set(key, String(await (await store.open(key))!.bytes()));
  return contents;
};
const isMoved = (err: unknown) => err instanceof UserError && err.kind === "moved";

onPostgres((engine) => {
  test("moves rows and objects while the server continues to serve reads, without losing an acknowledged write", async (t) => {
    const data = await createData(t);
    rmSync(join(data.dataDirectory, "durable-objects"), { recursive: true });
    const { where } = await engine.open(t);
    const { url } = where as { url: string };
    const objects = await openFsObjects({ folder: data.objects });
    const target = await openFsObjects({ folder: join(createTestFolder(t), "objects") });
    const options = {
      dataDirectory: data.dataDirectory,
      objects,
      target,
      database: { url, label: "db.internal/reelpost" },
      migrations,
    };
    const prepared = await moveData({ ...options, prepareOnly: true });
    assert.deepEqual([prepared.objects.copied, prepared.rows], [20, undefined]);

    // The server continues to write during the move, until the database becomes read-only.
    const acknowledged: number[] = [];
    const writer = (async () => {
      for (let id = 100; ; id++) {
        await data.addNote(id, `late note ${id}`);
        acknowledged.push(id);
      }
    })();
    const writerEnds = assert.rejects(writer, isMoved);
    await objects.delete(["notes/3"]);
    const moved = await moveData({ ...options, prepareOnly: false });
    await writerEnds;
    assert.equal(moved.rows, 1 + 20 + acknowledged.length);
    assert.ok(moved.objects.copied <= acknowledged.length + 1, "objects that were copied before are not copied again");
    assert.equal(
      (await data.db.tables<{ notes: { id: number } }>().selectFrom("notes").select("id").execute()).length,
      20 + acknowledged.length,
    );

    const db = await openPostgres({ url, connections: 1 });
    t.after(() => db.close());
    const ids = (await db.tables<{ notes: { id: number } }>().selectFrom("notes").select("id").execute()).map(
      ({ id }) => id,
    );
    assert.deepEqual(
      acknowledged.filter((id) => !ids.includes(id)),
      [],
    );
    const found = await contentsOf(target);
    // The last object may have been stored without its row.
    for (const id of acknowledged) assert.equal(found.get(`notes/${id}`), `late note ${id}`);
    assert.equal(found.has("notes/3"), false);
    assert.deepEqual(
      [...found],
      [...(await contentsOf(objects))].filter(([key]) => found.has(key)),
    );

    // A second call finds everything in place.
    const again = await moveData({ ...options, prepareOnly: false });
    assert.deepEqual([again.rows, again.objects.copied <= 1], [moved.rows, true]);
    cancelMove(data.dataDirectory);
    await data.addNote(7000, "written after the cancellation");
    await assert.rejects(
      moveData({ ...options, prepareOnly: false }),
      (err) => err instanceof UserError && err.kind === "moveDiffers" && err.message.includes("notes"),
    );
  });

  onS3((openBucket) => {
    test("moves objects to a bucket, and compares them there", async (t) => {
      const data = await createData(t);
      const bucket = await openBucket(t);
      const before = { ...process.env };
      Object.assign(process.env, bucket.env);
      t.after(() => void (process.env = before));
      const options = { dataDirectory: data.dataDirectory, objects: data.objects, target: bucket.url, migrations };
      const moved = await moveData({ ...options, prepareOnly: true });
      assert.deepEqual([moved.objects.count, moved.objects.copied], [20, 20]);
      assert.equal((await moveData({ ...options, prepareOnly: true })).objects.copied, 0);
    });
  });

  test("resumes after an interruption, and copies a changed object again", async (t) => {
    const data = await createData(t);
    const objects = await openFsObjects({ folder: data.objects });
    const target = await openFsObjects({ folder: join(createTestFolder(t), "objects") });
    let copies = 0;
    const interrupted: ObjectStore = {
      ...target,
      put: async (...args) => {
        if (copies++ === 7) throw new Error("interrupted");
        return target.put(...args);
      },
    };
    const options = { dataDirectory: data.dataDirectory, objects, migrations, prepareOnly: true };
    await assert.rejects(moveData({ ...options, target: interrupted }), /interrupted/);
    const resumed = await moveData({ ...options, target });
    assert.ok(resumed.objects.copied <= 13, String(resumed.objects.copied));
    assert.deepEqual(await contentsOf(target), await contentsOf(objects));
    await objects.put("notes/5", Buffer.from("changed"));
    await target.delete(["notes/6"]);
    assert.equal((await moveData({ ...options, target })).objects.copied, 2);
    assert.deepEqual(await contentsOf(target), await contentsOf(objects));
  });

  test("detects an object that differs in the new store, and does not move Durable Objects", async (t) => {
    const data = await createData(t);
    const objects = await openFsObjects({ folder: data.objects });
    const folder = await openFsObjects({ folder: join(createTestFolder(t), "objects") });
    const lossy: ObjectStore = {
      ...folder,
      put: async (key, body) => {
        const stored = await folder.put(key, body);
        if (key === "notes/9") await folder.put(key, Buffer.from("x".repeat(stored.size)));
        return stored;
      },
    };
    const options = { dataDirectory: data.dataDirectory, objects, migrations, prepareOnly: false };
    await assert.rejects(
      moveData({ ...options, target: lossy }),
      (err) => err instanceof UserError && err.kind === "moveDiffers" && err.message.includes("notes/9"),
    );
    await assert.rejects(
      moveData({ ...options, database: { url: "postgres://127.0.0.1:1/db", label: "db" } }),
      (err) => err instanceof UserError && err.kind === "durableObjectsStay",
    );
  });
});
