import { sql } from "kysely";
import type { ScriptsTables } from "../../src/workers/scripts/schema.ts";
import { claimRuns, distinctCrons } from "../../src/workers/scripts/schedules-table.ts";
import { author, openScriptsFixture, uploadOf } from "../../src/workers/scripts/scripts.testing.ts";
import { scriptReader } from "../../src/workers/scripts/scripts-table.ts";
import { createKvStore } from "../../src/workers/bindings/kv/kv-store.ts";
import { createKvTable } from "../../src/workers/bindings/kv/kv-table.ts";
import { listBucketObjects } from "../../src/workers/bindings/r2/list.ts";
import { defaultLimits } from "../../src/workers/bindings/r2/limits.ts";
import { createObjectTable } from "../../src/workers/bindings/r2/r2-table.ts";
import { createRemovedTable } from "../../src/workers/bindings/r2/removed-table.ts";
import type { ObjectRow } from "../../src/workers/bindings/r2/schema.ts";
import { createMessagesTable } from "../../src/workers/queues/messages-table.ts";
import { createQueuesTable } from "../../src/workers/queues/queues-table.ts";
import type { QueueMessageRow } from "../../src/workers/queues/schema.ts";
import { ACCOUNT, columnsOf, digits, expectRows, idOf, multiply, random, shared, type Subject } from "./subject.ts";

const START = Date.UTC(2026, 0, 1);
const PAGE = 50;

export const kvKeys: Subject = {
  name: "KV keys",
  rows: { few: 1e3, many: 1e6 },
  async open({ db, objects, onClose }, rows) {
    const namespace = "c".repeat(32);
    const store = createKvStore({ ...shared, db, objects });
    onClose(() => store.close());
    const table = createKvTable(db);
    await store.put(namespace, "template", Buffer.from("value"));
    const { digits: number, bytes } = columnsOf(db);
    await multiply(db, "kv_entries", rows, { key: bytes(sql`'key-' || ${number}`) });
    const keyOf = (index: number) => `key-${digits(index)}`;
    const cursor = Buffer.from(`${keyOf(rows / 2)}\0`).toString("base64url");
    const list = async (options: Parameters<typeof store.list>[1], count = PAGE) =>
      expectRows((await store.list(namespace, { limit: PAGE, ...options })).keys, count);
    return [
      { name: "list", run: () => list({}) },
      { name: "list deep", run: () => list({ cursor }) },
      { name: "search by prefix", run: () => list({ prefix: keyOf(random(rows)) }, 1) },
      { name: "get", run: async () => (await store.get(namespace, keyOf(random(rows))))!.size },
      { name: "insert", run: () => store.put(namespace, shared.ids.hex(), Buffer.from("value")) },
      {
        name: "sweep",
        prepare: () =>
          Promise.all(
            Array.from({ length: 20 }, () =>
              store.put(namespace, shared.ids.hex(), Buffer.from("value"), { expiresAt: START }),
            ),
          ),
        async run() {
          const { count } = await table.deleteExpired(Date.now(), 500);
          if (count !== 20) throw new Error(`deleted ${count} keys instead of 20`);
        },
      },
    ];
  },
};

export const r2Objects: Subject = {
  name: "R2 objects",
  rows: { few: 1e3, many: 1e6 },
  async open({ db }, rows) {
    const bucket = "d".repeat(32);
    const table = createObjectTable(db);
    const removed = createRemovedTable(db);
    const rowFor = (key: string): ObjectRow => ({
      bucket,
      key,
      version: shared.ids.hex(),
      size: 1000,
      etag: "e".repeat(32),
      uploaded: START,
      storage_class: "Standard",
      checksums: "{}",
      http_metadata: "{}",
      custom_metadata: "{}",
      upload_id: null,
      part_size: null,
    });
    await table.insert(rowFor("template"));
    const { index, id, digits: number } = columnsOf(db);
    await multiply(db, "r2_objects", rows, {
      key: sql`'folder' || (${index} % 10) || '/' || ${number}`,
      version: id,
    });
    const keyOf = (index: number) => `folder${index % 10}/${digits(index)}`;
    const list = async (options: Parameters<typeof listBucketObjects>[3]) => {
      const { objects, delimitedPrefixes } = await listBucketObjects(table, defaultLimits, bucket, {
        limit: PAGE,
        ...options,
      });
      return [...objects, ...delimitedPrefixes].length;
    };
    return [
      { name: "list", run: () => list({}) },
      { name: "list deep", run: () => list({ startAfter: keyOf(rows / 2) }) },
      { name: "list folders", run: () => list({ delimiter: "/" }) },
      { name: "search by prefix", run: () => list({ prefix: keyOf(random(rows)) }) },
      { name: "get", run: async () => (await table.find(bucket, keyOf(random(rows))))!.version },
      { name: "insert", run: () => table.insert(rowFor(shared.ids.hex())) },
      {
        name: "replace",
        async run() {
          const key = keyOf(random(rows));
          expectRows(await table.replace(rowFor(key), () => {}), 1);
        },
      },
      { name: "sweep", run: () => removed.before(START - 1, 500) },
      { name: "sweep of orphans", run: async () => (await removed.known([idOf(random(rows)), shared.ids.hex()])).size },
    ];
  },
};

export const queueMessages: Subject = {
  name: "queue messages",
  rows: { few: 1e3, many: 1e6 },
  async open({ db }, rows) {
    const queue = "e".repeat(32);
    const table = createMessagesTable(db);
    const queues = createQueuesTable(db);
    const rowFor = (): QueueMessageRow => ({
      id: Date.now().toString(16).padStart(12, "0") + shared.ids.hex().slice(12),
      queue_id: queue,
      content_type: "json",
      size: 2,
      sent_at: Date.now(),
      due_at: Date.now(),
      expires_at: Date.now() + 1e9,
      attempts: 0,
      token: null,
      body: Buffer.from("{}"),
    });
    await table.insert([rowFor()]);
    const { index, orderedId } = columnsOf(db);
    await multiply(db, "queue_messages", rows, { id: orderedId, due_at: sql`${sql.lit(START)} + ${index}` });
    const token = "c".repeat(32);
    let claimed: QueueMessageRow[] = [];
    return [
      { name: "list", run: async () => expectRows(await table.peek(queue, Date.now(), PAGE), PAGE) },
      { name: "insert", run: () => table.insert([rowFor()]) },
      { name: "times due", run: async () => expectRows(await table.due(queue, 10), 10) },
      { name: "queues with due messages", run: () => queues.listReadyAccounts(Date.now()) },
      {
        name: "claim",
        prepare: () =>
          table.release(
            token,
            claimed.map(({ id }) => id),
            { due_at: START - 1 },
          ),
        async run() {
          claimed = await table.claim(queue, 10, { token, now: Date.now(), until: Date.now() + 60_000 });
          expectRows(claimed, 10);
        },
      },
      {
        name: "sweep",
        prepare: () => table.insert(Array.from({ length: 20 }, () => ({ ...rowFor(), expires_at: START }))),
        async run() {
          const deleted = await table.expire(Date.now());
          if (deleted !== 20) throw new Error(`deleted ${deleted} messages instead of 20`);
        },
      },
      { name: "count", run: () => table.backlog(queue) },
    ];
  },
};

export const deployedWorkers: Subject = {
  name: "deployed workers",
  rows: { few: 1e2, many: 1e4 },
  async open({ db, onClose }, rows) {
    const { scripts } = await openScriptsFixture({ after: onClose }, db, { limits: { scriptsPerAccount: 1_000_000 } });
    await scripts.upload(ACCOUNT, "template", uploadOf("export default { fetch() {} }"), author);
    await scripts.changeSchedules(ACCOUNT, "template", ["0 0 1 1 *"]);
    const { digits: number, id } = columnsOf(db);
    const versionId = sql`'v' || ${id}`;
    const deploymentId = sql`'d' || ${id}`;
    const script = { script_id: id, id: versionId };
    await multiply(db, "worker_versions", rows, script);
    await multiply(db, "worker_modules", rows, { version_id: versionId });
    await multiply(db, "worker_deployments", rows, { ...script, id: deploymentId });
    await multiply(db, "worker_deployed_versions", rows, { deployment_id: deploymentId, version_id: versionId });
    await multiply(db, "worker_schedules", rows, { script_id: id });
    await multiply(db, "worker_scripts", rows, {
      id,
      name: sql`'worker-' || ${number}`,
      latest_version_id: versionId,
      live_deployment_id: deploymentId,
    });
    const tables = db.tables<ScriptsTables>();
    const read = scriptReader(tables);
    const list = async (page: number) => expectRows((await scripts.list(ACCOUNT, { page, perPage: PAGE })).items, PAGE);
    const nameOf = (index: number) => `worker-${digits(index)}`;
    return [
      { name: "list", run: () => list(1) },
      { name: "list last page", run: () => list(rows / PAGE) },
      { name: "get", run: async () => (await scripts.get(ACCOUNT, nameOf(random(rows))))!.id },
      { name: "find by name", run: async () => (await read(ACCOUNT, nameOf(random(rows))))!.id },
      // The name sorts after those of the workers with a version, which the lists return.
      { name: "insert", run: () => scripts.create(ACCOUNT, `z-${shared.ids.hex().slice(0, 12)}`, author) },
      { name: "crons", run: () => distinctCrons(tables, "", 100) },
      { name: "claim", run: async () => expectRows(await claimRuns(tables, ["0 0 1 1 *"], 0, 100), 0) },
    ];
  },
};
