import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Invocation, WorkerRuntime, WorkerScript } from "../index.ts";
import { scriptOf, startRuntime } from "./runtime.testing.ts";

const event = { cron: "*/5 * * * *", scheduledTime: new Date(1_800_000_000_000) };
const SEEN = `{ console.log(JSON.stringify([controller.type, controller.cron, controller.scheduledTime, controller.noRetry()])) }`;

describe("the scheduled handler", () => {
  let runtime: WorkerRuntime;
  let impatient: WorkerRuntime;
  const records: Invocation[] = [];
  before(() => {
    runtime = startRuntime();
    impatient = startRuntime({ limits: { scheduledWallMs: 300 } });
    for (const each of [runtime, impatient]) each.onInvocation((record) => void records.push(record));
  });
  after(() => Promise.all([runtime.close(), impatient.close()]));

  async function run(source: string, more: Partial<WorkerScript> = {}, on = runtime) {
    await on.deploy(scriptOf(source, more));
    const outcome = await on.scheduled("test", event);
    return { ...outcome, record: records.at(-1)! };
  }

  const forms: [string, string, Partial<WorkerScript>?][] = [
    ["an object", `export default { async scheduled(controller, env, ctx) ${SEEN} }`],
    [
      "a class",
      `import { WorkerEntrypoint } from "cloudflare:workers"; export default class extends WorkerEntrypoint { async scheduled(controller) ${SEEN} }`,
    ],
    [
      "an inherited method",
      `import { WorkerEntrypoint } from "cloudflare:workers"; class Base extends WorkerEntrypoint { scheduled(controller) ${SEEN} } export default class extends Base {}`,
    ],
  ];
  for (const [form, source, more] of forms) {
    it(`in the form of ${form} gets its pattern and its time`, async () => {
      const { outcome, record } = await run(source, { account: "a".repeat(32), version: "v7", ...more });
      assert.equal(outcome, "ok");
      assert.deepEqual(
        record.logs.map(({ message }) => JSON.parse(String(message[0]))),
        [["scheduled", event.cron, event.scheduledTime.getTime(), null]],
      );
      assert.deepEqual(
        [record.event, record.script, record.version, record.account],
        [{ kind: "scheduled", ...event }, "test", "v7", "a".repeat(32)],
      );
    });
  }

  it("ends after its waitUntil() work, including work started by that work", async () => {
    const { outcome, record } = await run(`export default { scheduled(controller, env, ctx) {
      ctx.waitUntil(scheduler.wait(20).then(() => { console.log("one"); ctx.waitUntil(scheduler.wait(20).then(() => console.log("two"))) }));
    } }`);
    assert.deepEqual([outcome, record.logs.map(({ message }) => message[0])], ["ok", ["one", "two"]]);
  });

  it("fails if it or its waitUntil() work throws", async () => {
    const thrown = await run(`export default { scheduled() { throw new RangeError("at once") } }`);
    assert.deepEqual(
      [thrown.outcome, thrown.exception?.name, thrown.exception?.message],
      ["exception", "RangeError", "at once"],
    );
    assert.match(thrown.exception!.stack!, /index\.js:1:\d+/);
    const late = await run(
      `export default { scheduled(controller, env, ctx) { ctx.waitUntil(scheduler.wait(1).then(() => { throw new TypeError("later") })) } }`,
    );
    assert.deepEqual(
      [late.outcome, late.exception?.name, late.exception?.message, late.record.exceptions],
      ["exception", "TypeError", "later", []],
    );
    const unheard = await run(
      `import { waitUntil } from "cloudflare:workers"; export default { scheduled() { waitUntil(Promise.reject(new Error("unheard"))) } }`,
    );
    assert.deepEqual([unheard.outcome, unheard.exception?.message], ["exception", "unheard"]);
  });

  it("that is missing, or whose worker is missing, is reported as an outcome", async () => {
    assert.equal(
      (await run(`export default { fetch() {} }`)).exception?.message,
      "Handler does not export a scheduled() function",
    );
    const nobody = await runtime.scheduled("nobody", event);
    assert.deepEqual(
      [nobody.outcome, nobody.exception?.message],
      ["exception", "This Worker does not exist on your account."],
    );
  });

  it("has a wall time limit that includes waitUntil() work, and the worker keeps running", async () => {
    const { outcome, exception } = await run(
      `export default { scheduled(controller, env, ctx) { ctx.waitUntil(scheduler.wait(60_000)) }, fetch() {} }`,
      {},
      impatient,
    );
    assert.deepEqual([outcome, exception?.message], ["exceededWallTime", "Worker exceeded wall time limit of 300 ms."]);
    assert.deepEqual((await impatient.readExports("test")).handlers, ["fetch", "scheduled"]);
  });
});

describe("the handlers of a worker", () => {
  let runtime: WorkerRuntime;
  before(() => void (runtime = startRuntime()));
  after(() => runtime.close());

  const cases: [string, string[]][] = [
    [
      `export default { fetch() {}, async email() {}, scheduled: () => {}, queue() {}, tail() {}, trace() {}, other() {}, test: 1 }`,
      ["fetch", "email", "scheduled", "queue", "tail", "trace"],
    ],
    [
      `import { WorkerEntrypoint } from "cloudflare:workers"; class Base extends WorkerEntrypoint { email() {} } export default class extends Base { fetch() {} helper() {} }`,
      ["fetch", "email"],
    ],
    [`export default class { fetch() {} }`, ["fetch"]],
    [`export default {}`, []],
  ];
  for (const [source, names] of cases) {
    it(`are ${names.join(", ") || "none"}: ${source.slice(0, 60)}`, async () => {
      await runtime.deploy(scriptOf(source));
      assert.deepEqual((await runtime.readExports("test")).handlers, names);
    });
  }

  it("cannot be read for a missing worker", async () => {
    await assert.rejects(runtime.readExports("nobody"), { code: 10007 });
  });
});

describe("a process", () => {
  it("belongs to the key of a script, so that two versions of one name run side by side", async (t) => {
    const runtime = startRuntime();
    t.after(() => runtime.close());
    const records: Invocation[] = [];
    runtime.onInvocation((record) => void records.push(record));
    const version = (id: string) =>
      scriptOf(`export default { scheduled() { console.log(${JSON.stringify(id)}) } }`, { key: id, version: id });
    await runtime.deploy(version("v1"));
    await runtime.deploy(version("v2"));
    for (const key of ["v1", "v2"]) assert.equal((await runtime.scheduled(key, event)).outcome, "ok");
    assert.deepEqual(
      records.map(({ script, version, logs }) => [script, version, logs[0]?.message[0]]),
      [
        ["test", "v1", "v1"],
        ["test", "v2", "v2"],
      ],
    );
    await runtime.remove("v1");
    assert.equal((await runtime.scheduled("v1", event)).outcome, "exception");
    assert.equal((await runtime.scheduled("v2", event)).outcome, "ok");
    assert.equal((await runtime.scheduled("test", event)).outcome, "exception");
  });
});
