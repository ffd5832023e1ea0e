import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { sendHttpRequest, createApi, TOKEN } from "../e2e/serve-client.ts";
import { spawnServe, temporaryFolder } from "../support/serve.ts";

const env = { REELPOST_API_TOKEN: TOKEN };
const host = "jobs.main.localhost";

/** Sends the number in the path and stores consumed ones in KV. Batches take time, so that a kill interrupts some. */
const WORKER = `
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname !== "/") {
      await env.JOBS.send(pathname.slice(1));
      return new Response("stored");
    }
    const names = [];
    for (let cursor; ;) {
      const page = await env.SEEN.list({ cursor });
      names.push(...page.keys.map(({ name }) => name));
      if (page.list_complete) return Response.json(names);
      cursor = page.cursor;
    }
  },
  async queue(batch, env) {
    await scheduler.wait(20);
    for (const { body } of batch.messages) await env.SEEN.put(body, "");
  },
};`;

test("every message acknowledged to a worker is consumed, whenever the server is killed", async (t) => {
  const dataDirectory = await temporaryFolder(t);
  let server = await spawnServe(t, { dataDirectory, env });
  const api = createApi(server.ready, TOKEN);
  const { id: namespace } = await api.ok("post", "storage/kv/namespaces", { body: { title: "seen" } });
  const { queue_id: queue } = await api.ok("post", "queues", { body: { queue_name: "jobs" } });
  await api.deploy("jobs", WORKER, {
    bindings: [
      { type: "kv_namespace", name: "SEEN", namespace_id: namespace },
      { type: "queue", name: "JOBS", queue_name: "jobs" },
    ],
  });
  const settings = { batch_size: 3, max_wait_time_ms: 0, max_retries: 100 };
  await api.ok("post", `queues/${queue}/consumers`, { body: { type: "worker", script_name: "jobs", settings } });

  const acknowledged: string[] = [];
  let next = 0;
  for (let round = 0; round < 2; round++) {
    const { ready } = server;
    const senders = Array.from({ length: 4 }, async () => {
      for (;;) {
        const name = String(next++);
        const stored = await sendHttpRequest(ready, `/${name}`, { host }).then(
          ({ body }) => body === "stored",
          () => false,
        );
        if (stored) acknowledged.push(name);
        else return;
      }
    });
    const wanted = acknowledged.length + 40;
    while (acknowledged.length < wanted) await sleep(5);
    server.child.kill("SIGKILL");
    await server.exited;
    await Promise.all(senders);
    server = await spawnServe(t, { dataDirectory, env });
  }
  for (let missing = acknowledged; missing.length > 0; await sleep(50)) {
    const seen = new Set(JSON.parse((await sendHttpRequest(server.ready, "/", { host })).body) as string[]);
    missing = acknowledged.filter((name) => !seen.has(name));
  }
  assert.ok(acknowledged.length >= 80);
});
