import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { createLocalEvents, migrate, openSqlite } from "../../../store/index.ts";
import { type Script } from "../../../workers/index.ts";
import { createQueueStore, queueMigrations } from "../../../workers/queues/index.ts";
import { startApi, TEST_ACCOUNT, type TestApi } from "../../api.testing.ts";
import { queuesRoutes } from "./routes.ts";

const BASE = `/accounts/${TEST_ACCOUNT}/queues`;

describe("queue operations", () => {
  const ends: (() => Promise<void>)[] = [];
  const clock = createManualClock(1_800_000_000_000);
  let api: TestApi;
  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), "queue-routes-"));
    const db = openSqlite({ path: join(folder, "test.db") });
    await migrate(db, queueMigrations);
    const events = createLocalEvents({ log: silentLog });
    ends.push(async () => {
      await events.close();
      await db.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const { queues, messages } = createQueueStore({ db, events, clock, ids: randomIds, log: silentLog });
    api = await startApi(
      { after: (end) => void ends.push(end) },
      {
        routes: queuesRoutes({
          queues,
          messages,
          scripts: {
            get: async (_account, name) => (name === "absent" ? undefined : ({ name } as Script)),
            queueProducers: async () => new Map([["jobs", ["sender"]]]),
          },
        }),
        clock,
      },
    );
  });
  after(async () => {
    for (const end of ends.reverse()) await end();
  });

  const ok = async (method: string, path = "", options: Parameters<TestApi["call"]>[2] = {}) => {
    const { status, body } = await api.call(method, BASE + path, options);
    assert.equal(status, 200, JSON.stringify(body));
    return body.result;
  };
  const fails = async (method: string, path: string, body?: unknown) => {
    const response = await api.call(method, BASE + path, body === undefined ? {} : { body });
    return [response.status, response.body.errors[0].code];
  };
  const create = async (name: string, more = {}): Promise<string> =>
    (await ok("post", "", { body: { queue_name: name, ...more } })).queue_id;

  it("create, get, change and delete a queue", async () => {
    const id = await create("jobs", { settings: { delivery_delay: 5 }, jurisdiction: "eu" });
    const queue = await ok("get", `/${id}`);
    assert.deepEqual(
      [queue.queue_name, queue.jurisdiction, queue.settings, queue.producers, queue.consumers_total_count],
      [
        "jobs",
        "eu",
        { delivery_delay: 5, delivery_paused: false, message_retention_period: 345_600 },
        [{ type: "worker", script: "sender" }],
        0,
      ],
    );
    const changed = await ok("patch", `/${id}`, { body: { settings: { delivery_paused: true } } });
    assert.deepEqual([changed.settings.delivery_paused, changed.settings.delivery_delay], [true, 5]);
    // Clients send back the whole queue.
    assert.equal((await ok("put", `/${id}`, { body: { ...changed, queue_name: "renamed" } })).queue_name, "renamed");
    assert.deepEqual(await fails("post", "", { queue_name: "renamed" }), [409, 11009]);
    assert.deepEqual(await fails("post", "", { queue_name: "-" }), [400, 11003]);
    assert.deepEqual(await fails("patch", `/${id}`, { settings: { delivery_delay: 86_401 } }), [400, 100128]);
    assert.equal(await ok("delete", `/${id}`), null);
    assert.deepEqual(await fails("get", `/${id}`), [404, 11000]);
  });

  it("list queues in pages, and only the requested names", async () => {
    for (const name of ["l1", "l2", "l3"]) await create(name);
    const { body } = await api.call("get", BASE, { query: { page: 2, per_page: 2 } });
    assert.deepEqual([body.result.length, body.result_info.total_count, body.result_info.page], [1, 3, 2]);
    const two = await api.call("get", `${BASE}?name=l1&name=l3&name=none`);
    assert.deepEqual(
      two.body.result.map(({ queue_name }: { queue_name: string }) => queue_name),
      ["l1", "l3"],
    );
    assert.deepEqual((await ok("get", "", { query: { page: 9 } })) as unknown[], []);
  });

  it("a queue has one consumer, either a worker or HTTP pull", async () => {
    const id = await create("consumed");
    const body = { type: "worker", script_name: "w", settings: { batch_size: 7, max_concurrency: null } };
    const made = await ok("post", `/${id}/consumers`, { body });
    assert.deepEqual(
      [made.script, made.script_name, made.settings],
      ["w", "w", { batch_size: 7, max_retries: 3, max_wait_time_ms: 5000 }],
    );
    assert.deepEqual(await fails("post", `/${id}/consumers`, { type: "http_pull" }), [409, 11004]);
    assert.deepEqual(
      await fails("put", `/${id}/consumers/${made.consumer_id}`, { ...body, script_name: "absent" }),
      [404, 11006],
    );
    assert.deepEqual(
      await fails("put", `/${id}/consumers/${made.consumer_id}`, { ...body, settings: { batch_size: 101 } }),
      [400, 100127],
    );
    const put = await ok("put", `/${id}/consumers/${made.consumer_id}`, { body: { ...body, dead_letter_queue: "d" } });
    assert.equal(put.dead_letter_queue, "d");
    assert.deepEqual(await ok("get", `/${id}/consumers`), [put]);
    assert.deepEqual(await ok("get", `/${id}/consumers/${made.consumer_id}`), put);
    assert.deepEqual(await fails("get", `/${id}/consumers/${"0".repeat(32)}`), [404, 11005]);
    assert.equal(await ok("delete", `/${id}/consumers/${made.consumer_id}`), null);
    assert.deepEqual(await fails("post", `/${id}/messages/pull`, {}), [405, 11007]);
  });

  it("messages are pushed, pulled, acknowledged and retried", async () => {
    const id = await create("pulled");
    await ok("post", `/${id}/consumers`, { body: { type: "http_pull", settings: { visibility_timeout_ms: 5000 } } });
    await ok("post", `/${id}/messages`, { body: { body: { a: 1 } } });
    const pushed = await ok("post", `/${id}/messages/batch`, {
      body: {
        messages: [
          { body: "text é", content_type: "text" },
          { body: "later", content_type: "text", delay_seconds: 9 },
        ],
      },
    });
    assert.equal(pushed.metadata.metrics.backlog_count, 3);
    const pulled = await ok("post", `/${id}/messages/pull`, { body: { batch_size: 10 } });
    assert.deepEqual(
      pulled.messages.map((message: Record<string, unknown>) => [message.body, message.attempts, message.metadata]),
      [
        [Buffer.from('{"a":1}').toString("base64"), 1, { "CF-Content-Type": "json" }],
        ["text é", 1, { "CF-Content-Type": "text" }],
      ],
    );
    assert.deepEqual([pulled.messages[0].timestamp_ms, pulled.message_backlog_count], [clock.now(), 3]);
    const [acked, retried] = pulled.messages as { lease_id: string }[];
    assert.deepEqual(
      await ok("post", `/${id}/messages/ack`, {
        body: {
          acks: [{ lease_id: acked!.lease_id }, { lease_id: "x" }],
          retries: [{ lease_id: retried!.lease_id, delay_seconds: 1 }],
        },
      }),
      {
        ackCount: 1,
        retryCount: 1,
        warnings: { x: "The lease has expired or is unknown; the message may be delivered again." },
      },
    );
    clock.advance(1000);
    const again = await ok("post", `/${id}/messages/pull`);
    assert.deepEqual(
      again.messages.map((message: Record<string, unknown>) => [message.body, message.attempts]),
      [["text é", 2]],
    );
    const peeked = await ok("post", `/${id}/messages/peek`, { body: { batch_size: 5 } });
    assert.equal(peeked.messages.length, 2);
    assert.deepEqual(await fails("post", `/${id}/messages`, { body: 1, content_type: "text" }), [400, 11012]);
    assert.deepEqual(await fails("post", `/${id}/messages`, { body: "x".repeat(128_000) }), [413, 11008]);
  });

  it("a purge must be confirmed, and deletes all messages", async () => {
    const id = await create("purged");
    await ok("post", `/${id}/messages`, { body: { body: 1 } });
    assert.deepEqual(await fails("post", `/${id}/purge`, {}), [400, 11014]);
    assert.deepEqual(await ok("get", `/${id}/purge`), { completed: "true" });
    assert.equal((await ok("post", `/${id}/purge`, { body: { delete_messages_permanently: true } })).queue_id, id);
    assert.equal((await ok("get", `/${id}/metrics`)).backlog_count, 0);
    assert.equal((await ok("get", `/${id}/purge`)).started_at, new Date(clock.now()).toISOString());
  });
});
