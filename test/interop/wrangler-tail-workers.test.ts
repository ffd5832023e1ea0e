import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const base = { main: "index.js", compatibility_date: "2026-10-01" };
const PRODUCER = `export default { fetch(request) { console.log(new URL(request.url).search); return new Response("hello"); } };`;
/** Stores each item in KV under the text of its log line. */
const CONSUMER = `
export default {
  async tail(events, env) {
    for (const { scriptName, outcome, event, logs } of events)
      await env.SEEN.put(logs[0].message[0], JSON.stringify([scriptName, outcome, event.request.method, event.response.status]));
  },
  async fetch(request, env) {
    const { searchParams } = new URL(request.url);
    return new Response(await env.SEEN.get(searchParams.get("key")));
  },
};`;

describe("wrangler: tail workers", () => {
  const scope = createScope();
  let platform: Platform;
  let producer: Wrangler;
  let consumer: Wrangler;
  const config = (more: object = {}) => JSON.stringify({ ...base, name: "producer", ...more });
  const withTailWorker = { tail_consumers: [{ service: "consumer" }] };
  before(async () => {
    platform = await startPlatform(scope);
    const { id } = await platform.ask<{ id: string }>(`/accounts/${platform.account}/storage/kv/namespaces`, {
      method: "POST",
      body: JSON.stringify({ title: "seen" }),
    });
    producer = await platform.wrangler({ "wrangler.jsonc": config(withTailWorker), "index.js": PRODUCER });
    consumer = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({
        ...base,
        name: "consumer",
        kv_namespaces: [{ binding: "SEEN", id }],
      }),
      "index.js": CONSUMER,
    });
  });
  after(scope.close);

  /**
   * Sends a request to the producer, then polls the tail worker, which is called after the response, for the stored
   * item.
   */
  async function receivedItem(key: string): Promise<string> {
    await platform.visit("producer", `/?${key}`);
    const deadline = Date.now() + 60_000;
    for (;;) {
      const { text } = await platform.visit("consumer", `/?key=${encodeURIComponent(`?${key}`)}`);
      if (text !== "" || Date.now() > deadline) return text;
    }
  }

  it("a deploy fails if a tail worker does not exist", async () => {
    const { text, code } = await producer.attempt(["deploy"]);
    assert.notEqual(code, 0);
    assert.match(text, /The tail consumer 'consumer' does not exist/);
    assert.deepEqual(await platform.ask(`/accounts/${platform.account}/workers/scripts`), []);
  });

  it("a tail worker receives the requests of the other worker", async () => {
    await consumer.run(["deploy"]);
    await producer.run(["deploy"]);
    assert.deepEqual(JSON.parse(await receivedItem("one")), ["producer", "ok", "GET", 200]);
    const { tail_consumers } = await platform.ask<{ tail_consumers: unknown }>(
      `/accounts/${platform.account}/workers/scripts/producer/settings`,
    );
    assert.deepEqual(tail_consumers, withTailWorker.tail_consumers);
  });

  it("a tail worker that is removed from the script settings receives nothing", async () => {
    const path = `/accounts/${platform.account}/workers/scripts/producer/script-settings`;
    await platform.ask(path, { method: "PATCH", body: JSON.stringify({ tail_consumers: [] }) });
    await platform.visit("producer", "/?two");
    await platform.ask(path, { method: "PATCH", body: JSON.stringify(withTailWorker) });
    assert.deepEqual(JSON.parse(await receivedItem("three")), ["producer", "ok", "GET", 200]);
    assert.equal((await platform.visit("consumer", `/?key=${encodeURIComponent("?two")}`)).text, "");
  });
});
