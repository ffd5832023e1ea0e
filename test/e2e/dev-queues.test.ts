import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { QueueEvent } from "../../src/dev/index.ts";
import { createScope, makeProject, serve, writeProjectFile, type TestServer } from "./dev-bench.ts";

const WORKER = `
export default {
  async fetch(request, env) {
    await env.JOBS.send({ n: Number(new URL(request.url).searchParams.get("n")) });
    return new Response("sent");
  },
  async queue(batch) {
    console.log(batch.queue, ...batch.messages.map(({ body, attempts }) => body.n + "/" + attempts));
    if (batch.messages.some(({ body }) => body.n === 13) && batch.queue === "jobs") throw new Error("not 13");
  },
};
`;
const queues = {
  producers: [{ binding: "JOBS", queue: "jobs" }],
  consumers: [
    { queue: "jobs", max_batch_size: 1, max_retries: 1, dead_letter_queue: "dead" },
    { queue: "dead", max_batch_timeout: 0 },
  ],
};

describe("queues in development", () => {
  const scope = createScope();
  let server: TestServer;
  let folder = "";
  before(async () => {
    folder = await makeProject(scope, { "src/index.ts": WORKER }, { name: "jobs-worker", queues });
    server = await serve(scope, folder);
  });
  after(scope.close);

  const send = async (n: number) => assert.equal(await (await fetch(`${server.url}/?n=${n}`)).text(), "sent");
  const said = (event: QueueEvent) => event.logs.map(({ message }) => message.join(" ")).join();
  const eventOf = (text: string) =>
    server.event((event): event is QueueEvent => event.event === "queue" && said(event as QueueEvent) === text);

  it("are created on first use and consumed by the same worker", async () => {
    await send(1);
    const { queue, batchSize, outcome, worker } = await eventOf("jobs 1/1");
    assert.deepEqual([queue, batchSize, outcome, worker], ["jobs", 1, "ok", "jobs-worker"]);
  });

  it("retry a failed batch, deliver it to the dead letter queue, and report each failure", async () => {
    await send(13);
    const first = await eventOf("jobs 13/1");
    assert.deepEqual([first.outcome, first.exceptions[0]?.message], ["exception", "not 13"]);
    await eventOf("jobs 13/2");
    assert.equal((await eventOf("dead 13/1")).outcome, "ok");
  });

  it("are consumed as configured after the configuration changes", async () => {
    const config = {
      name: "jobs-worker",
      main: "src/index.ts",
      compatibility_date: "2026-10-01",
      queues: { ...queues, consumers: [{ queue: "jobs", max_batch_timeout: 0, max_batch_size: 2 }] },
    };
    await writeProjectFile(folder, "wrangler.jsonc", JSON.stringify(config));
    await server.rebuild();
    await send(13);
    await eventOf("jobs 13/4");
  });
});
