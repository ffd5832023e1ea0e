import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { WorkerRuntime } from "../index.ts";
import { mailOf, noActions, scriptOf, startRuntime } from "./runtime.testing.ts";

const handler = (body: string) => `export default { async email(message, env, ctx) { ${body} } }`;

describe("the limits of a worker", () => {
  let runtime: WorkerRuntime;
  let narrow: WorkerRuntime;
  let impatient: WorkerRuntime;
  before(() => {
    // Apart, so that a busy machine cannot make the one limit strike before the other.
    runtime = startRuntime({ limits: { cpuMs: 300 } });
    narrow = startRuntime({ limits: { heapMb: 64, rssMb: 300 } });
    impatient = startRuntime({ limits: { emailWallMs: 300 } });
  });
  after(() => Promise.all([runtime.close(), narrow.close(), impatient.close()]));

  const cases: [what: string, body: string, outcome: string, message: RegExp][] = [
    ["an infinite loop", "for (;;);", "exceededCpu", /^Worker exceeded CPU time limit of 300 ms\.$/],
    ["a loop that keeps awaiting", "for (;;) await null;", "exceededCpu", /CPU time limit/],
    ["a heap that grows without end", "const all = []; for (;;) all.push(new Array(1000).fill(Math.random()));", "exceededMemory", /^Worker exceeded memory limit/],
    ["array buffers beyond the heap", "const all = []; for (;;) { all.push(new Uint8Array(8_000_000).fill(1)); await scheduler.wait(1); }", "exceededMemory", /^Worker exceeded memory limit of 300 MiB\.$/],
    ["a wait that outlasts the wall time", "await scheduler.wait(60_000)", "exceededWallTime", /^Worker exceeded wall time limit of 300 ms\.$/],
    ["a promise that can never resolve", "await new Promise(() => {})", "exception", /never/i],
  ];
  for (const [what, body, outcome, message] of cases) {
    it(`end ${what}; the next message finds the worker up, other workers notice nothing`, async () => {
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

  it("charge each invocation with its own share: many short ones never add up", async () => {
    await runtime.deploy(scriptOf(handler("const end = Date.now(); let x = 0; for (let i = 0; i < 3e6; i++) x += Math.sqrt(i);")));
    const outcomes = new Set<string>();
    const send = async () => {
      for (let i = 0; i < 60; i++) outcomes.add((await runtime.email("test", mailOf(), noActions)).outcome);
    };
    await Promise.all([send(), send()]);
    assert.deepEqual([...outcomes], ["ok"]);
  });

  it("of a script's own configuration go before those of the server", async () => {
    await runtime.deploy(scriptOf(handler("for (;;);"), { limits: { cpuMs: 100 } }));
    assert.match((await runtime.email("test", mailOf(), noActions)).exception!.message, /limit of 100 ms/);
  });
});
