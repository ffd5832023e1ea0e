import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import type { WorkerRuntime } from "../index.ts";
import { mailOf, noActions, scriptOf, startRuntime } from "./runtime.testing.ts";

const handler = (body: string) => `export default { async email(message, env, ctx) { ${body} } }`;

describe("the limits of a worker", () => {
  let runtime: WorkerRuntime;
  let narrow: WorkerRuntime;
  let impatient: WorkerRuntime;
  before(() => {
    // Separate runtimes, so that on a busy machine one limit does not take effect before the other.
    runtime = startRuntime({ limits: { cpuMs: 300 } });
    narrow = startRuntime({ limits: { heapMb: 64, rssMb: 300 } });
    impatient = startRuntime({ limits: { emailWallMs: 1000 } });
  });
  after(() => Promise.all([runtime.close(), narrow.close(), impatient.close()]));

  const cases: [what: string, body: string, outcome: string, message: RegExp][] = [
    ["an infinite loop", "for (;;);", "exceededCpu", /^Worker exceeded CPU time limit of 300 ms\.$/],
    ["a loop that keeps awaiting", "for (;;) await null;", "exceededCpu", /CPU time limit/],
    [
      "a heap that grows without limit",
      "const all = []; for (;;) all.push(new Array(1000).fill(Math.random()));",
      "exceededMemory",
      /^Worker exceeded memory limit/,
    ],
    [
      "array buffers outside the heap",
      "const all = []; for (;;) { all.push(new Uint8Array(8_000_000).fill(1)); await scheduler.wait(1); }",
      "exceededMemory",
      /^Worker exceeded memory limit of 300 MiB\.$/,
    ],
    [
      "a wait beyond the wall time limit",
      "await scheduler.wait(60_000)",
      "exceededWallTime",
      /^Worker exceeded wall time limit of 1000 ms\.$/,
    ],
    ["a promise that can never resolve", "await new Promise(() => {})", "exception", /never/i],
  ];
  for (const [what, body, outcome, message] of cases) {
    it(`end ${what}; the next message is handled, and other workers are not affected`, async () => {
      const on = outcome === "exceededWallTime" ? impatient : outcome === "exceededMemory" ? narrow : runtime;
      await on.deploy(scriptOf(handler(`if (message.to === "bad@x") { ${body} }`)));
      await runtime.deploy(scriptOf(handler(""), { name: "neighbour" }));
      const bad = on.email("test", mailOf(undefined, { to: "bad@x" }), noActions);
      const neighbour = await runtime.email("neighbour", mailOf(), noActions);
      assert.equal(neighbour.outcome, "ok");
      const result = await bad;
      assert.equal(result.outcome, outcome, JSON.stringify(result));
      assert.match(result.exception!.message, message);
      assert.equal((await on.email("test", mailOf(), noActions)).outcome, "ok");
    });
  }

  it("charge each invocation for its own share: many short ones do not accumulate", async () => {
    await runtime.deploy(
      scriptOf(handler("const end = Date.now(); let x = 0; for (let i = 0; i < 3e6; i++) x += Math.sqrt(i);")),
    );
    const outcomes = new Set<string>();
    const send = async () => {
      for (let i = 0; i < 60; i++) outcomes.add((await runtime.email("test", mailOf(), noActions)).outcome);
    };
    await Promise.all([send(), send()]);
    assert.deepEqual([...outcomes], ["ok"]);
  });

  it("a script can lower the server's limits but not raise them", async () => {
    for (const [requested, got] of [
      [100, 100],
      [9_000_000, 300],
    ] as const) {
      await runtime.deploy(scriptOf(handler("for (;;);"), { limits: { cpuMs: requested } }));
      assert.match(
        (await runtime.email("test", mailOf(), noActions)).exception!.message,
        new RegExp(`limit of ${got} ms`),
      );
    }
  });

  it("stop a worker that uses CPU time and keeps sending on a WebSocket", async (t) => {
    await runtime.deploy(
      scriptOf(
        `export default { fetch() {
      const [client, server] = Object.values(new WebSocketPair());
      server.accept();
      const work = () => { for (let i = 0; i < 2e6; i++); server.send("x"); setTimeout(work, 1); };
      work();
      return new Response(null, { status: 101, webSocket: client });
    } }`,
        { name: "talker" },
      ),
    );
    const ended: string[] = [];
    const server = createServer().on("upgrade", (request, socket, head) =>
      runtime.upgrade("talker", request, socket, head),
    );
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    t.after(() => void server.close());
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("data", (chunk) => ended.length === 0 && ended.push(chunk.toString("latin1").slice(0, 12)));
    socket.write(
      "GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
    );
    await once(socket, "close");
    assert.deepEqual(ended, ["HTTP/1.1 101"]);
  });

  it("the kernel stops an allocation that is faster than the watchdog samples", async (t) => {
    const quick = startRuntime({ limits: { rssMb: 200 } });
    t.after(() => quick.close());
    // One burst of allocations that may finish between two samples.
    await quick.deploy(
      scriptOf(
        handler(
          `if (message.to === "bad@x") { const all = []; for (let i = 0; i < 100; i++) all.push(new Uint8Array(20_000_000).fill(1)); }`,
        ),
      ),
    );
    const { outcome, exception } = await quick.email("test", mailOf(undefined, { to: "bad@x" }), noActions);
    assert.deepEqual([outcome, exception!.message], ["exceededMemory", "Worker exceeded memory limit of 200 MiB."]);
    assert.equal((await quick.email("test", mailOf(), noActions)).outcome, "ok");
  });
});
