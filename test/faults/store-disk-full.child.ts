/**
 * Fills the disk under a directory with objects and rows, and checks that acknowledged data is preserved, failed writes
 * leave nothing behind, and everything works again once there is space. `limit` specifies what is limited: the whole
 * disk, or each file if nothing can be mounted.
 */
import assert from "node:assert/strict";
import { closeSync, openSync, readdirSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { isStoreError, type ObjectStore, openFsObjects, openSqlite } from "../../src/store/index.ts";

const { folder, limit } = JSON.parse(process.argv[2]!) as { folder: string; limit: "disk" | "file" };
const MANY = 2000;

await fillWithObjects();
await fillWithRows();

async function fillWithObjects() {
  const root = join(folder, "objects");
  const objects = await openFsObjects({ folder: root });
  await objects.put("kept", Buffer.from("before"));
  const stored = ["kept"];
  // Larger than either limit allows: as bytes, as a stream, and as a replacement for an existing object.
  for (const body of [() => Buffer.alloc(32 << 20), () => chunks(32 << 20)]) {
    await assert.rejects(
      objects.put("large", body()),
      (err) => isStoreError(err, "diskFull") && err.entry.http === 507,
    );
    await assert.rejects(objects.put("kept", body()), (err) => isStoreError(err, "diskFull"));
    assert.deepEqual(readdirSync(join(root, ".tmp")), []);
  }
  if (limit === "disk") {
    await assert.rejects(
      async () => {
        for (let n = 0; n < MANY; n++) {
          await objects.put(`many/${n}`, Buffer.alloc(64 << 10, n));
          stored.push(`many/${n}`);
        }
      },
      (err) => isStoreError(err, "diskFull"),
    );
    assert.deepEqual(readdirSync(join(root, ".tmp")), []);
  }
  assert.deepEqual((await keysOf(objects)).sort(), stored.sort());
  assert.equal(String(await (await objects.open("kept"))!.bytes()), "before");
  for (const key of stored.slice(1))
    assert.equal(
      (await (await objects.open(key))!.bytes()).every((byte) => byte === Number(key.slice(5)) % 256),
      true,
    );
  await objects.delete(stored);
  await objects.put("again", Buffer.alloc(64 << 10));
  await objects.delete(["again"]);
}

async function fillWithRows() {
  const path = join(folder, "rows.db");
  const ballast = join(folder, "ballast");
  const fd = openSync(ballast, "w");
  for (let n = 0; n < 8; n++) writeSync(fd, Buffer.alloc(64 << 10));
  closeSync(fd);
  let db = openSqlite({ path });
  interface Tables {
    rows: { name: string; bytes: Uint8Array };
  }
  await sql`create table rows (name text primary key, bytes blob not null)`.execute(db.tables());
  const insert = (name: string) =>
    db
      .tables<Tables>()
      .insertInto("rows")
      .values({ name, bytes: new Uint8Array(20_000) });
  const names = async () =>
    (await db.tables<Tables>().selectFrom("rows").select("name").orderBy("name").execute()).map(({ name }) => name);
  // SQLite reports a file at its limit as an I/O error, not a full disk.
  const full = (outcome: PromiseSettledResult<unknown>) =>
    outcome.status === "rejected" && isStoreError(outcome.reason, limit === "disk" ? "diskFull" : "notWritable");
  const stored: string[] = [];
  let refused = 0;
  for (let n = 0; n < MANY && refused < 3; n++) {
    // Each row alone, concurrently with others, and in a transaction.
    const batch = [`${n}-a`, `${n}-b`, `${n}-c`];
    const outcomes = await Promise.allSettled([
      insert(batch[0]!).execute(),
      db.write(insert(batch[1]!)),
      db.write(insert(batch[2]!)),
    ]);
    const pair = await Promise.allSettled([
      db.transaction<Tables, void>(async (tx) => {
        for (const name of [`${n}-x`, `${n}-y`])
          await tx
            .insertInto("rows")
            .values({ name, bytes: new Uint8Array(20_000) })
            .execute();
      }),
    ]);
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome.status === "fulfilled") stored.push(batch[index]!);
      else assert.ok(full(outcome), String(outcome.reason));
    }
    if (pair[0]!.status === "fulfilled") stored.push(`${n}-x`, `${n}-y`);
    else assert.ok(full(pair[0]!), String(pair[0]!.reason));
    if ([...outcomes, ...pair].some(full)) refused++;
  }
  assert.equal(refused, 3, "the disk was never full");
  assert.deepEqual(await names(), stored.toSorted());
  assert.deepEqual((await sql`pragma integrity_check`.execute(db.tables())).rows, [{ integrity_check: "ok" }]);
  if (limit === "disk") {
    unlinkSync(ballast);
    await db.write(insert("after"));
    stored.push("after");
  }
  await db.close().catch(() => {});
  db = openSqlite({ path });
  assert.deepEqual(await names(), stored.toSorted());
  await db.close();
}

async function keysOf(objects: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects.list("")) keys.push(key);
  return keys;
}

async function* chunks(size: number) {
  for (let sent = 0; sent < size; sent += 100_000) yield Buffer.alloc(100_000);
}
