import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { silentLog, systemClock } from "../../../kernel/index.ts";
import { createObjectStorage } from "../../objects/storage.ts";
import type { Invocation, WorkerRuntime } from "../../runtime/port.ts";
import { scriptOf, startRuntime } from "../../runtime/runtime.testing.ts";
import type { WorkerScript } from "../../scripts/script.ts";
import { createTailConsumers } from "./consumers.ts";

const PRODUCER = `
import { channel } from "node:diagnostics_channel";
export default {
  async fetch(request, env, ctx) {
    console.log("during", { a: 1 });
    channel("reports").publish({ from: "producer" });
    ctx.waitUntil(scheduler.wait(10).then(() => console.warn("after")));
    if (request.url.endsWith("/throw")) throw new RangeError("no");
    return new Response("hello", { status: 201 });
  },
  scheduled() { channel("reports").publish({ from: "schedule" }); },
};`;
const OBJECTS = `
import { DurableObject } from "cloudflare:workers";
export class Counter extends DurableObject {
  fetch(request) {
    if (!request.url.endsWith("/silent")) console.log("counted");
    return new Response("hello", { status: 201 });
  }
  add(by) { return by; }
  async soon() { await this.ctx.storage.setAlarm(Date.now()); }
  alarm() { console.log("rung"); }
}
export default {
  async fetch(request, env) {
    const stub = env.COUNTER.getByName("a");
    const { pathname } = new URL(request.url);
    if (pathname === "/add") return Response.json(await stub.add(1));
    if (pathname === "/soon") return Response.json((await stub.soon()) ?? null);
    if (pathname === "/silent") return stub.fetch(request.url, { headers: { "x-reelpost-dispatch": "0" } });
    return stub.fetch(request);
  },
};`;
const CONSUMER = `
export default {
  async tail(events, env, ctx) {
    if (events[0].scriptName === "refused") throw new TypeError("not this one");
    ctx.waitUntil(scheduler.wait(1).then(() => console.log(JSON.stringify(events.map((event) => ({
      ...event,
      ...(event.event?.scheduledTime instanceof Date && { isDate: true }),
      ...(event.event?.request && { plain: event.event.request.getUnredacted().getUnredacted().headers.cookie }),
    }))))));
  },
};`;
const OLD_CONSUMER = `
addEventListener("tail", (event) => console.log(JSON.stringify([event.events.length, event.events === event.traces])));`;

interface Item {
  event: Record<string, unknown> & { request?: { url: string; headers: Record<string, string> } };
  plain?: string;
  logs: { message: unknown[]; level: string; timestamp: number }[];
  exceptions: { name: string; message: string; timestamp: number }[];
  diagnosticsChannelEvents: { channel: string; message: unknown; timestamp: number }[];
  [field: string]: unknown;
}

describe("a tail worker in workerd", () => {
  let runtime: WorkerRuntime;
  let url = "";
  const records: Invocation[] = [];
  let nextRecord = Promise.withResolvers<void>();
  const cleanups: (() => unknown)[] = [];
  before(async () => {
    const directory = mkdtempSync(join(tmpdir(), "reelpost-objects-"));
    cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
    runtime = startRuntime({ objects: createObjectStorage({ directory, clock: systemClock, log: silentLog }) });
    cleanups.push(() => runtime.close());
    const consumers = createTailConsumers({
      consumersOf: ({ script }) =>
        ({
          producer: ["consumer"],
          refused: ["consumer"],
          objects: ["object-consumer"],
          other: ["missing"],
          old: ["old-consumer"],
        })[script] ?? [],
      deliver: ({ script }, batch) => runtime.tail(script, batch),
      clock: systemClock,
      log: silentLog,
    });
    cleanups.push(() => consumers.close(), consumers.watch(runtime));
    runtime.onInvocation((record) => {
      records.push(record);
      nextRecord.resolve();
      nextRecord = Promise.withResolvers();
    });
    const deploy = (name: string, source: string, more: Partial<WorkerScript> = {}) =>
      runtime.deploy(scriptOf(source, { name, account: "a".repeat(32), version: `${name}-1`, ...more }));
    await deploy("producer", PRODUCER, { compatibilityFlags: ["nodejs_compat"] });
    await deploy("refused", PRODUCER, { compatibilityFlags: ["nodejs_compat"] });
    await deploy("consumer", CONSUMER);
    await deploy("object-consumer", CONSUMER);
    await deploy("objects", OBJECTS, {
      bindings: [{ type: "durable_object_namespace", name: "COUNTER", class_name: "Counter" }],
      objects: {
        owner: "c".repeat(32),
        namespaces: [{ id: "d".repeat(32), className: "Counter", sqlite: true }],
      },
    });
    await deploy("old", "export default { scheduled() {} }");
    await deploy("old-consumer", OLD_CONSUMER, { format: "service-worker" });
    const server = createServer(
      (request, response) => void runtime.fetch(String(request.headers["x-script"]), request, response),
    );
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
    cleanups.push(() => (server.closeAllConnections(), server.close()));
  });
  after(async () => {
    for (const end of cleanups.reverse()) await end();
  });

  const request = (script: string, path: string) =>
    fetch(url + path, { headers: { "x-script": script, cookie: "a=b" } });
  /** Resolves with the next tail invocation of `script` after the first `seen` records. */
  async function nextTailCall(script: string, seen: number): Promise<Invocation> {
    for (;;) {
      const next = nextRecord.promise;
      const found = records.slice(seen).find((record) => record.event.kind === "tail" && record.script === script);
      if (found !== undefined) return found;
      await next;
    }
  }
  const itemsOf = ({ logs }: Invocation) => JSON.parse(String(logs[0]!.message[0])) as Item[];

  it("receives a request with logs, diagnostics and unredacted values", async () => {
    const seen = records.length;
    assert.equal(await (await request("producer", "/x")).text(), "hello");
    const record = await nextTailCall("consumer", seen);
    assert.deepEqual(record.event, { kind: "tail", consumed: ["producer"], origins: ["producer"] });
    const [item] = itemsOf(record);
    const { event, logs, diagnosticsChannelEvents, plain, eventTimestamp, wallTime, cpuTime, ...rest } = item!;
    assert.equal(event.request!.url, `${url}/x`);
    assert.deepEqual([event.request!.headers["cookie"], plain], ["REDACTED", "a=b"]);
    assert.deepEqual(event["response"], { status: 201 });
    assert.deepEqual(
      logs.map(({ level, message }) => [level, message]),
      [
        ["log", ["during", { a: 1 }]],
        ["warn", ["after"]],
      ],
    );
    assert.deepEqual(
      diagnosticsChannelEvents.map(({ channel, message }) => [channel, message]),
      [["reports", { from: "producer" }]],
    );
    assert.ok(Math.abs(Number(eventTimestamp) - Date.now()) < 60_000 && Number(wallTime) >= 0 && Number(cpuTime) >= 0);
    assert.deepEqual(rest, {
      outcome: "ok",
      scriptName: "producer",
      scriptVersion: { id: "producer-1" },
      exceptions: [],
      truncated: false,
      executionModel: "stateless",
    });
  });

  it("receives the exception of a failed request, and a scheduled run without logs", async () => {
    let seen = records.length;
    await (await request("producer", "/throw")).text();
    const [failed] = itemsOf(await nextTailCall("consumer", seen));
    assert.deepEqual(
      [failed!["outcome"], failed!.exceptions.map(({ name, message }) => [name, message])],
      ["exception", [["RangeError", "no"]]],
    );
    seen = records.length;
    const scheduledTime = new Date(1_800_000_000_000);
    await runtime.scheduled("producer", { cron: "* * * * *", scheduledTime });
    const [run] = itemsOf(await nextTailCall("consumer", seen));
    assert.deepEqual(
      run!.diagnosticsChannelEvents.map(({ message }) => message),
      [{ from: "schedule" }],
    );
    assert.deepEqual(run!.event, { cron: "* * * * *", scheduledTime: scheduledTime.getTime() });
  });

  it("receives the events of a Durable Object separately from those of its worker", async () => {
    async function itemOf(isWanted: (event: Item["event"]) => boolean): Promise<Item> {
      for (;;) {
        const next = nextRecord.promise;
        const found = records
          .filter(({ event, script }) => event.kind === "tail" && script === "object-consumer")
          .flatMap(itemsOf)
          .find(({ entrypoint, event }) => entrypoint === "Counter" && isWanted(event));
        if (found !== undefined) return found;
        await next;
      }
    }
    assert.equal((await request("objects", "/count?key=0123456789abcdef0123456789ABCDEF")).status, 201);
    const {
      event,
      logs,
      plain,
      eventTimestamp,
      wallTime: _wall,
      cpuTime: _cpu,
      ...rest
    } = await itemOf((each) => "request" in each);
    const { request: traced, response } = event;
    assert.equal(traced!.url, `${url}/count?key=REDACTED`);
    assert.deepEqual([traced!.headers["cookie"], plain, response], ["REDACTED", "a=b", { status: 201 }]);
    assert.ok(!("cf-ray" in traced!.headers));
    assert.deepEqual(
      logs.map(({ message }) => message),
      [["counted"]],
    );
    assert.ok(Math.abs(Number(eventTimestamp) - Date.now()) < 60_000);
    const { durableObjectId, ...fixed } = rest;
    assert.match(String(durableObjectId), /^[0-9a-f]{64}$/);
    assert.deepEqual(fixed, {
      outcome: "ok",
      scriptName: "objects",
      scriptVersion: { id: "objects-1" },
      entrypoint: "Counter",
      exceptions: [],
      diagnosticsChannelEvents: [],
      truncated: false,
      executionModel: "durableObject",
    });

    await (await request("objects", "/add")).text();
    const call = await itemOf((each) => "rpcMethod" in each);
    assert.deepEqual([call.event, call["durableObjectId"]], [{ rpcMethod: "add" }, durableObjectId]);

    // An event without logs, with the header of the server's own calls.
    await (await request("objects", "/silent")).text();
    await itemOf((each) => each.request?.url === `${url}/silent`);

    await (await request("objects", "/soon")).text();
    const alarm = await itemOf((each) => "scheduledTime" in each);
    assert.deepEqual([alarm["isDate"], alarm["durableObjectId"]], [true, durableObjectId]);
  });

  it("does not affect the producer if it throws, and a missing handler is reported as an exception", async () => {
    const seen = records.length;
    assert.equal((await request("refused", "/")).status, 201);
    const { outcome, exception } = await nextTailCall("consumer", seen);
    assert.deepEqual([outcome, exception?.name, exception?.message], ["exception", "TypeError", "not this one"]);
    const batch = { items: "[]", consumed: [], origins: [] };
    const unhandled = await runtime.tail("producer", batch);
    assert.equal(unhandled.exception?.message, "Handler does not export a tail() function");
    const unknownWorker = await runtime.tail("nobody", batch);
    assert.deepEqual(
      [unknownWorker.outcome, unknownWorker.exception?.message],
      ["exception", "This Worker does not exist on your account."],
    );
  });

  it("receives an event if it is in service-worker format", async () => {
    const seen = records.length;
    await runtime.scheduled("old", { cron: "* * * * *", scheduledTime: new Date() });
    assert.deepEqual(JSON.parse(String((await nextTailCall("old-consumer", seen)).logs[0]!.message[0])), [1, true]);
  });
});
