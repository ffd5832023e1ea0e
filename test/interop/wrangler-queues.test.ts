import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

/** Sends to the queue, stores what it consumes in KV, and retries bodies that ask for it. */
const WORKER = `
export default {
  async fetch(request, env) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/send") {
      await env.JOBS.send({ text: searchParams.get("text") });
      return new Response("sent");
    }
    if (pathname === "/batch") {
      await env.JOBS.sendBatch([{ body: { text: "b1" } }, { body: { text: "b2" } }]);
      return new Response("sent");
    }
    const { keys } = await env.SEEN.list();
    return Response.json(keys.map(({ name }) => name));
  },
  async queue(batch, env) {
    for (const message of batch.messages) {
      if (message.body.text === "bad" && batch.queue === "jobs") { message.retry(); continue; }
      await env.SEEN.put(batch.queue + "/" + message.body.text + "/" + message.attempts, "");
    }
  },
};
`;

interface Queue {
  queue_id: string;
  queue_name: string;
  producers: { type: string; script: string }[];
  consumers: { type: string; script?: string; dead_letter_queue?: string; settings: Record<string, number> }[];
  settings: { delivery_delay: number; delivery_paused: boolean; message_retention_period: number };
}

describe("wrangler queues", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  const config = (kv: string, more: object = {}) =>
    JSON.stringify({
      name: "worker",
      main: "index.js",
      compatibility_date: "2026-10-01",
      kv_namespaces: [{ binding: "SEEN", id: kv }],
      queues: {
        producers: [{ binding: "JOBS", queue: "jobs" }],
        consumers: [
          {
            queue: "jobs",
            max_batch_size: 5,
            max_batch_timeout: 0,
            max_retries: 1,
            dead_letter_queue: "dead",
            ...more,
          },
          { queue: "dead", max_batch_timeout: 0 },
        ],
      },
    });
  let kv = "";
  before(async () => {
    platform = await startPlatform(scope);
    kv = (
      await platform.ask<{ id: string }>(`/accounts/${platform.account}/storage/kv/namespaces`, {
        method: "POST",
        body: JSON.stringify({ title: "seen" }),
      })
    ).id;
    wrangler = await platform.wrangler({ "wrangler.jsonc": config(kv), "index.js": WORKER });
  });
  after(scope.close);

  const queues = (...args: string[]) => wrangler.run(["queues", ...args]);
  const find = async (name: string) =>
    (await platform.ask<Queue[]>(`/accounts/${platform.account}/queues?name=${name}`))[0];
  /** Resolves when the worker has consumed all of these messages. */
  async function consumed(...wanted: string[]) {
    for (;;) {
      const seen = JSON.parse((await platform.visit("worker")).text) as string[];
      if (wanted.every((key) => seen.includes(key))) return seen;
    }
  }

  it("a deploy with a missing queue fails and explains how to create it", async () => {
    const { code, text } = await wrangler.attempt(["deploy"]);
    assert.notEqual(code, 0);
    assert.match(text, /Queue "(jobs|dead)" does not exist\. To create it, run: wrangler queues create/);
  });

  it("creates, lists and shows queues; rejects a second queue of the same name", async () => {
    assert.match((await queues("create", "jobs")).text, /Created queue 'jobs'/);
    await queues("create", "dead", "--delivery-delay-secs", "0", "--message-retention-period-secs", "3600");
    const { code, text } = await wrangler.attempt(["queues", "create", "jobs"]);
    assert.notEqual(code, 0);
    assert.match(text, /Queue name 'jobs' is already taken/);
    assert.match((await queues("list")).text, /dead[^]*jobs/);
    assert.match((await queues("info", "dead")).text, /Queue Name: dead[^]*Number of Consumers: 0/);
    assert.equal((await find("dead"))?.settings.message_retention_period, 3600);
  });

  it("deploy binds the producer and registers the consumers with their settings", async () => {
    const { text } = await wrangler.run(["deploy"]);
    assert.match(text, /env\.JOBS \(jobs\)/);
    assert.match(text, /Consumer for jobs/);
    const jobs = await find("jobs");
    assert.deepEqual(jobs?.producers, [{ type: "worker", script: "worker" }]);
    assert.deepEqual(
      jobs?.consumers.map(({ type, script, dead_letter_queue, settings }) => [
        type,
        script,
        dead_letter_queue,
        settings.batch_size,
        settings.max_wait_time_ms,
        settings.max_retries,
      ]),
      [["worker", "worker", "dead", 5, 0, 1]],
    );
    assert.match((await queues("info", "jobs")).text, /Producers: worker:worker[^]*Consumers: worker:worker/);
  });

  it("the worker consumes its own messages; a message whose retries are exhausted reaches the dead letter queue", async () => {
    await platform.visit("worker", "/send?text=a");
    await platform.visit("worker", "/batch");
    await platform.visit("worker", "/send?text=bad");
    const seen = await consumed("jobs/a/1", "jobs/b1/1", "jobs/b2/1", "dead/bad/1");
    assert.ok(!seen.some((key) => key.startsWith("jobs/bad")));
  });

  it("a later deploy changes the consumer in place", async () => {
    await wrangler.write("wrangler.jsonc", config(kv, { max_batch_size: 7, max_concurrency: 3, retry_delay: 9 }));
    await wrangler.run(["deploy"]);
    const [consumer] = (await find("jobs"))!.consumers;
    assert.deepEqual(
      [consumer?.settings.batch_size, consumer?.settings.max_concurrency, consumer?.settings.retry_delay],
      [7, 3, 9],
    );
  });

  it("a paused queue keeps its messages, purge deletes them, and resume delivers new ones", async () => {
    await queues("pause-delivery", "jobs");
    assert.equal((await find("jobs"))?.settings.delivery_paused, true);
    await platform.visit("worker", "/send?text=purged");
    const { queue_id } = (await find("jobs"))!;
    const backlog = async () =>
      (await platform.ask<{ backlog_count: number }>(`/accounts/${platform.account}/queues/${queue_id}/metrics`))
        .backlog_count;
    assert.equal(await backlog(), 1);
    await queues("purge", "jobs", "--force");
    assert.equal(await backlog(), 0);
    await queues("resume-delivery", "jobs");
    await platform.visit("worker", "/send?text=after");
    assert.ok(!(await consumed("jobs/after/1")).includes("jobs/purged/1"));
  });

  it("updates a queue, and adds and removes consumers for workers and HTTP pull", async () => {
    await queues("update", "dead", "--delivery-delay-secs", "5");
    assert.equal((await find("dead"))?.settings.delivery_delay, 5);
    await queues("consumer", "remove", "jobs", "worker");
    assert.deepEqual((await find("jobs"))?.consumers, []);
    await queues("consumer", "http", "add", "jobs", "--batch-size", "3", "--visibility-timeout-secs", "9");
    assert.equal((await find("jobs"))?.consumers[0]?.settings.visibility_timeout_ms, 9000);
    assert.match((await queues("consumer", "list", "jobs")).text, /HTTP pull consumers:[^]*9000/);
    const { code, text } = await wrangler.attempt(["queues", "consumer", "add", "jobs", "worker"]);
    assert.notEqual(code, 0);
    assert.match(text, /already has a consumer/);
    await queues("consumer", "http", "remove", "jobs");
    await queues("consumer", "add", "jobs", "worker", "--batch-size", "2");
    assert.equal((await find("jobs"))?.consumers[0]?.script, "worker");
  });

  it("deleting a queue removes it, and deleting the worker removes its consumers", async () => {
    await queues("delete", "dead");
    assert.equal(await find("dead"), undefined);
    await wrangler.run(["delete", "--force"]);
    assert.deepEqual((await find("jobs"))?.consumers, []);
  });
});
