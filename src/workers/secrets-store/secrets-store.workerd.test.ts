import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import type { Invocation, WorkerRuntime } from "../runtime/port.ts";
import { noServices, scriptOf, startRuntime } from "../runtime/runtime.testing.ts";
import type { SecretsStoreBinding } from "../scripts/script.ts";
import { createSecretsStoreService } from "./index.ts";

const ACCOUNT = "a".repeat(32);
const WORKER = `export default {
  async scheduled(controller, env) {
    const value = await env.KEY.get().catch((error) => [error.constructor.name, error.message]);
    console.log(JSON.stringify([value, Object.keys(env.KEY), String(env.KEY)]));
  },
};`;

describe("a Secrets Store binding", () => {
  let runtime: WorkerRuntime;
  let localRuntime: WorkerRuntime;
  const records: Invocation[] = [];
  const storedValues = new Map<string, string>();
  before(() => {
    const store = {
      valueOf: async (account: string, id: string, name: string) => storedValues.get(`${account}/${id}/${name}`),
    };
    runtime = startRuntime({
      services: { ...noServices, secretsStore: createSecretsStoreService({ store, log: silentLog }) },
    });
    localRuntime = startRuntime({
      services: { ...noServices, secretsStore: createSecretsStoreService({ store: undefined, log: silentLog }) },
    });
    for (const each of [runtime, localRuntime]) each.onInvocation((record) => void records.push(record));
  });
  after(() => Promise.all([runtime.close(), localRuntime.close()]));

  async function deploy(target: WorkerRuntime, fields: Partial<SecretsStoreBinding> = {}) {
    const binding = { type: "secrets_store_secret" as const, name: "KEY", store_id: "s", secret_name: "k", ...fields };
    await target.deploy(scriptOf(WORKER, { account: ACCOUNT, bindings: [binding] }));
  }
  async function read(target: WorkerRuntime): Promise<unknown[]> {
    await target.scheduled("test", { cron: "", scheduledTime: new Date() });
    return JSON.parse(String(records.at(-1)!.logs[0]!.message[0])) as unknown[];
  }

  it("returns the current value from each get(), and does not expose it otherwise", async () => {
    storedValues.set(`${ACCOUNT}/s/k`, "first é");
    await deploy(runtime);
    assert.deepEqual(await read(runtime), ["first é", [], "[object Object]"]);
    storedValues.set(`${ACCOUNT}/s/k`, "second");
    assert.equal((await read(runtime))[0], "second");
    storedValues.clear();
    assert.deepEqual((await read(runtime))[0], ["Error", 'Secret "k" not found']);
  });

  it("has the value from the configuration in development", async () => {
    await deploy(localRuntime, { local: "from the file" });
    assert.equal((await read(localRuntime))[0], "from the file");
    await deploy(localRuntime);
    assert.deepEqual((await read(localRuntime))[0], ["Error", 'Secret "k" not found']);
  });
});
