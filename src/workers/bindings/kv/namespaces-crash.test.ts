import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { migrate, openFsObjects, openSqlite } from "../../../store/index.ts";
import { createKvStore, type KvStore } from "./kv-store.ts";
import { kvMigrations } from "./kv-table.ts";
import { createKvNamespaces } from "./namespaces.ts";

const ACCOUNT = "a".repeat(32);
const ENTRIES = 4000;

async function open(folder: string) {
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, kvMigrations);
  const objects = await openFsObjects({ folder: join(folder, "objects") });
  return { db, store: createKvStore({ db, objects }) };
}

const count = async (store: KvStore, namespace: string) => {
  let keys = 0;
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await store.list(namespace, { cursor });
    keys += page.keys.length;
    cursor = page.cursor;
  }
  return keys;
};

/** Deletes the namespace, and exits when the first batch of its entries has been removed. */
async function deleteAndDie(folder: string, id: string): Promise<never> {
  const { db, store } = await open(folder);
  const dying: KvStore = {
    ...store,
    async clear(namespace, limit) {
      const removed = await store.clear(namespace, limit);
      writeSync(1, `${removed}\n`);
      process.kill(process.pid, "SIGKILL");
      return removed;
    },
  };
  await createKvNamespaces({ db, store: dying }).delete(ACCOUNT, id);
  return new Promise(() => {});
}

// This file is also run as the child process that is killed.
if (process.argv[2] === "delete") await deleteAndDie(process.argv[3]!, process.argv[4]!);
else
  test("a namespace whose deletion is interrupted when the process is killed stays deleted, and the next start removes the rest", async () => {
    const folder = await mkdtemp(join(tmpdir(), "kv-"));
    try {
      const before = await open(folder);
      const namespaces = createKvNamespaces({ db: before.db, store: before.store });
      const { id } = await namespaces.create(ACCOUNT, "many");
      const { id: other } = await namespaces.create(ACCOUNT, "other");
      await Promise.all(
        Array.from({ length: ENTRIES }, (_, index) =>
          before.store.put(index === 0 ? other : id, `key ${index}`, Buffer.from("value")),
        ),
      );
      await before.db.close();

      const child = spawn(process.execPath, [import.meta.filename, "delete", folder, id], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const [, signal] = (await once(child, "exit")) as [number | null, string | null];
      assert.equal(signal, "SIGKILL");

      const { db, store } = await open(folder);
      const later = createKvNamespaces({ db, store });
      assert.equal(await later.exists(ACCOUNT, id), false);
      const left = await count(store, id);
      assert.ok(left > 0 && left < ENTRIES - 1, `${left} entries remain`);
      await later.sweep();
      assert.deepEqual([await count(store, id), await count(store, other)], [0, 1]);
      await db.close();
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
