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

describe("a binding to a secret of the Secrets Store", () => {
  let runtime: WorkerRuntime;
  let local: WorkerRuntime;
  const records: Invocation[] = [];
  const values = new Map<string, string>();
  before(() => {
    const store = {
      valueOf: async (account: string, id: string, name: string) => values.get(`${account}/${id}/${name}`),
    };
    runtime = startRuntime({
      services: { ...noServices, secretsStore: createSecretsStoreService({ store, log: silentLog }) },
    });
    local = startRuntime({
      services: { ...noServices, secretsStore: createSecretsStoreService({ store: undefined, log: silentLog }) },
    });
    for (const each of [runtime, local]) each.onInvocation((record) => void records.push(record));
  });
  after(() => Promise.all([runtime.close(), local.close()]));

  async function deploy(on: WorkerRuntime, more: Partial<SecretsStoreBinding> = {}) {
    const binding = { type: "secrets_store_secret" as const, name: "KEY", store_id: "s", secret_name: "k", ...more };
    await on.deploy(scriptOf(WORKER, { account: ACCOUNT, bindings: [binding] }));
  }
  async function read(on: WorkerRuntime): Promise<unknown[]> {
    await on.scheduled("test", { cron: "", scheduledTime: new Date() });
    return JSON.parse(String(records.at(-1)!.logs[0]!.message[0])) as unknown[];
  }

  it("reads the current value at each call, and shows it nowhere else", async () => {
    values.set(`${ACCOUNT}/s/k`, "first é");
    await deploy(runtime);
    assert.deepEqual(await read(runtime), ["first é", [], "[object Object]"]);
    values.set(`${ACCOUNT}/s/k`, "second");
    assert.equal((await read(runtime))[0], "second");
    values.clear();
    assert.deepEqual((await read(runtime))[0], ["Error", 'Secret "k" not found']);
  });

  it("has the value of the configuration in development", async () => {
    await deploy(local, { local: "from the file" });
    assert.equal((await read(local))[0], "from the file");
    await deploy(local);
    assert.deepEqual((await read(local))[0], ["Error", 'Secret "k" not found']);
  });
});
