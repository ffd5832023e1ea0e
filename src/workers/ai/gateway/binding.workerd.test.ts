import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { randomIds, silentLog, systemClock } from "../../../kernel/index.ts";
import { migrate, openSqlite } from "../../../store/index.ts";
import type { Invocation, WorkerRuntime } from "../../runtime/port.ts";
import { noServices, scriptOf, startRuntime } from "../../runtime/runtime.testing.ts";
import { createAiService } from "../service.ts";
import { startOpenAiServer, type OpenAiServer } from "./ai-gateway.testing.ts";
import {
  aiGatewayMigrations,
  createAiGatewayBinding,
  createAiGatewayProxy,
  createAiGateways,
  createGatewayLookup,
  defaultAiGatewaySettings,
  type AiGateways,
} from "./index.ts";

const KEY = "the-key-of-the-operator";

/** Runs the code with the AI binding when a cron trigger fires, and logs the result. */
const WORKER = (code: string) => `
const run = async (AI) => { ${code} };
export default {
  async scheduled(controller, env) {
    console.log(JSON.stringify(await run(env.AI).catch((error) => [error.name, error.message])));
  },
};`;

describe("the AI Gateway of an AI binding", () => {
  const cleanups: (() => unknown)[] = [];
  const records: Invocation[] = [];
  let upstream: OpenAiServer;
  let gateways: AiGateways;
  let runtime: WorkerRuntime;
  let account = "";
  before(async () => {
    const scope = { after: (stop: () => unknown) => void cleanups.unshift(stop) };
    const folder = mkdtempSync(join(tmpdir(), "reelpost-ai-gateway-"));
    const db = openSqlite({ path: join(folder, "test.db") });
    scope.after(async () => {
      await db.close();
      rmSync(folder, { recursive: true, force: true });
    });
    await migrate(db, aiGatewayMigrations);
    upstream = await startOpenAiServer(scope);
    const server = { url: upstream.url, key: KEY, models: new Map([["@cf/llama", "llama"]]), allowsRemoteUrls: false };
    const providers = new Map([
      ["workers-ai", server],
      ["openai", { ...server, models: new Map<string, string>() }],
    ]);
    gateways = createAiGateways({ db, clock: systemClock });
    const proxy = createAiGatewayProxy({ providers, gateways, clock: systemClock, ids: randomIds, log: silentLog });
    const find = createGatewayLookup({ gateways });
    const gateway = createAiGatewayBinding({ proxy, gateways, find, publicUrl: "https://api.example.com/" });
    const ai = createAiService({ server, gateway, log: silentLog });
    runtime = startRuntime({ services: { ...noServices, ai } });
    scope.after(() => runtime.close());
    runtime.onInvocation((record) => void records.push(record));
    account = scriptOf("").account ?? "";
    await gateways.create(account, "g", { ...defaultAiGatewaySettings, cacheTtl: 60 });
  });
  after(async () => {
    for (const end of cleanups) await end();
  });

  async function run(code: string): Promise<unknown> {
    await runtime.deploy(scriptOf(WORKER(code), { bindings: [{ type: "ai", name: "AI" }] }));
    await runtime.scheduled("test", { cron: "", scheduledTime: new Date() });
    return JSON.parse(String(records.at(-1)!.logs[0]!.message[0])) as unknown;
  }

  it("run() with a gateway uses its cache and stores a log with its metadata", async () => {
    upstream.calls.length = 0;
    const results = (await run(`
      const call = (options) => AI.run("@cf/llama", { prompt: "hi" }, { gateway: { id: "g", metadata: { user: "ada ☕", big: 1n }, ...options } });
      const before = AI.aiGatewayLogId;
      const texts = [await call(), await call(), await call({ skipCache: true })].map(({ response }) => response);
      const stream = await AI.run("@cf/llama", { prompt: "hi", stream: true }, { gateway: { id: "g" } });
      const log = await AI.gateway("g").getLog(AI.aiGatewayLogId);
      return [before, texts, await new Response(stream).text(), log.model, log.created_at instanceof Date];
    `)) as unknown[];
    assert.deepEqual(results[0], null);
    assert.deepEqual(results[1], ["answer 1", "answer 1", "answer 2"]);
    assert.match(String(results[2]), /^data: \{"response":"answer 3"\}/);
    assert.equal(upstream.calls[0]!.body["model"], "llama");
    assert.equal(upstream.calls[0]!.headers.authorization, `Bearer ${KEY}`);
    const { items } = await gateways.logs(account, "g", { page: 1, perPage: 10 }, { direction: "asc" });
    assert.deepEqual(
      items.map(({ cached, path, metadata }) => [cached, path, metadata]),
      [
        [false, "@cf/llama", { user: "ada ☕", big: "1" }],
        [true, "@cf/llama", { user: "ada ☕", big: "1" }],
        [false, "@cf/llama", { user: "ada ☕", big: "1" }],
        [false, "@cf/llama", null],
      ],
    );
  });

  it("gateway().run() sends a request with fallbacks to the providers", async () => {
    const [status, text, step, isId] = (await run(`
      const query = (model) => ({ model, messages: [{ role: "user", content: "hi" }] });
      const step = (model) => ({ provider: "openai", endpoint: "chat/completions", headers: { "cf-aig-skip-cache": true }, query: query(model) });
      const response = await AI.gateway("g").run([step("absent"), step("gpt")]);
      return [response.status, await response.text(), response.headers.get("cf-aig-step"), AI.aiGatewayLogId === response.headers.get("cf-aig-log-id")];
    `)) as [number, string, string, boolean];
    assert.deepEqual([status, step, isId], [200, "1", true]);
    assert.match(text, /"answer \d/);
    assert.doesNotMatch(text, new RegExp(KEY));
  });

  it("patchLog() changes a log, getLog() reads it, and getUrl() returns the public URL", async () => {
    const [log, urls] = (await run(`
      const gateway = AI.gateway("g");
      await AI.run("@cf/llama", { prompt: "rated" }, { gateway: { id: "g" } });
      await gateway.patchLog(AI.aiGatewayLogId, { feedback: 1, score: 90, metadata: { rated: true } });
      return [await gateway.getLog(AI.aiGatewayLogId), [await gateway.getUrl(), await gateway.getUrl("openai")]];
    `)) as [Record<string, unknown>, string[]];
    assert.deepEqual([log["provider"], log["status_code"], log["tokens_in"]], ["workers-ai", 200, 7]);
    assert.deepEqual(log["metadata"], { rated: true });
    const stored = await gateways.log(account, "g", String(log["id"]));
    assert.deepEqual([stored.feedback, stored.score], [1, 90]);
    const base = `https://api.example.com/v1/${account}/g`;
    assert.deepEqual(urls, [base, `${base}/openai`]);
  });

  it("throws the errors of the gateway", async () => {
    for (const [code, message] of [
      [`return AI.run("m", { prompt: "a" }, { gateway: { id: "absent" } });`, /^7002: The AI gateway absent does not/],
      [`return AI.run("absent", { prompt: "a" }, { gateway: { id: "g" } });`, /^5021: absent: no such model$/],
      [`return AI.run("m", { image: [1] }, { gateway: { id: "g" } });`, /^5007: The inputs \["image"\] of m/],
      [`return AI.run("m", { prompt: "a" }, { gateway: { id: "g", retries: { maxAttempts: 2 } } });`, /option retries/],
      [`return AI.run("m", { prompt: "a" }, { gateway: {} });`, /must have the id of a gateway/],
      [`return AI.gateway("g").getLog("absent");`, /^7002: The log absent of the AI gateway g does not exist/],
      [`return AI.gateway("g").patchLog("absent", { score: "high" });`, /^2004: /],
      [`return AI.gateway();`, /must be the id of a gateway/],
    ] as const)
      assert.match(((await run(code)) as string[])[1]!, message);
    const response = `const response = await AI.gateway("g").run({ provider: "absent", endpoint: "x", query: {} });`;
    const [status, text] = (await run(`${response} return [response.status, await response.text()];`)) as [
      number,
      string,
    ];
    assert.equal(status, 400);
    assert.match(text, /Invalid provider/);
  });
});
