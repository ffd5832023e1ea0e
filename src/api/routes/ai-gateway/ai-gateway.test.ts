import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createManualClock } from "../../../kernel/index.ts";
import { migrate, openSqlite } from "../../../store/index.ts";
import { type AiGateways } from "../../../workers/index.ts";
import { aiGatewayMigrations, createAiGateways } from "../../../workers/ai/index.ts";
import { startApi, TEST_ACCOUNT, type TestApi } from "../../api.testing.ts";
import { aiGatewayRoutes } from "./routes.ts";

const BASE = `/accounts/${TEST_ACCOUNT}/ai-gateway/gateways`;
const NEW_GATEWAY = {
  id: "g",
  cache_invalidate_on_update: true,
  cache_ttl: 0,
  collect_logs: true,
  rate_limiting_interval: 0,
  rate_limiting_limit: 0,
};

describe("AI Gateway operations", () => {
  const cleanups: (() => Promise<void>)[] = [];
  const clock = createManualClock(1_800_000_000_000);
  let api: TestApi;
  let gateways: AiGateways;
  before(async () => {
    const folder = mkdtempSync(join(tmpdir(), "ai-gateway-routes-"));
    const db = openSqlite({ path: join(folder, "test.db") });
    await migrate(db, aiGatewayMigrations);
    cleanups.push(async () => {
      await db.close();
      rmSync(folder, { recursive: true, force: true });
    });
    gateways = createAiGateways({ db, clock });
    const routes = aiGatewayRoutes({ gateways, origin: () => "https://api.example.com" });
    api = await startApi({ after: (end) => void cleanups.push(end) }, { routes, clock });
  });
  after(async () => {
    for (const end of cleanups.reverse()) await end();
  });

  const call = (method: string, path: string, body?: unknown) =>
    api.call(method, `${BASE}${path}`, body === undefined ? {} : { body });
  async function ok(method: string, path: string, body?: unknown) {
    const response = await call(method, path, body);
    assert.equal(response.status, 200, response.text);
    return response.body.result;
  }
  async function errorOf(method: string, path: string, body?: unknown) {
    const response = await call(method, path, body);
    return [response.status, response.body.errors[0].code];
  }
  async function addLog(fields: object = {}): Promise<string> {
    const id = crypto.randomUUID().replaceAll("-", "");
    await gateways.addLog(await gateways.get(TEST_ACCOUNT, "g"), {
      id,
      createdAt: new Date(clock.now()),
      provider: "openai",
      model: "gpt",
      path: "chat/completions",
      duration: 5,
      status: 200,
      success: true,
      cached: false,
      tokensIn: 1,
      tokensOut: null,
      requestType: "application/json",
      requestSize: 2,
      responseType: "text/event-stream",
      responseSize: 9999,
      requestHead: '{"a":1}',
      requestComplete: true,
      responseHead: "data: x",
      responseComplete: true,
      step: 0,
      metadata: { user: "ada" },
      feedback: null,
      score: null,
      ...fields,
    });
    return id;
  }

  it("create, list, read, update and delete gateways", async () => {
    const created = await ok("post", "", NEW_GATEWAY);
    assert.deepEqual(
      [created.id, created.cache_ttl, created.authentication, created.log_management_strategy],
      ["g", 0, true, "DELETE_OLDEST"],
    );
    assert.deepEqual(await ok("get", "/g"), created);
    assert.deepEqual(await ok("get", "?search=g&per_page=10"), [created]);
    assert.deepEqual(await ok("get", "?search=x"), []);
    clock.advance(1000);
    const { id: _id, ...settings } = NEW_GATEWAY;
    const update = { ...settings, cache_ttl: 60, rate_limiting_limit: 5, rate_limiting_interval: 10 };
    const updated = await ok("put", "/g", { ...update, authentication: false, rate_limiting_technique: "sliding" });
    assert.deepEqual(
      [updated.cache_ttl, updated.rate_limiting_limit, updated.authentication, updated.rate_limiting_technique],
      [60, 5, false, "sliding"],
    );
    assert.notEqual(updated.modified_at, created.modified_at);
    const kept = await ok("put", "/g", { cache_ttl: null });
    assert.deepEqual([kept.cache_ttl, kept.authentication, kept.rate_limiting_limit], [0, false, 5]);
    assert.equal(await ok("get", "/g/url/openai"), `https://api.example.com/v1/${TEST_ACCOUNT}/g/openai`);
    await ok("post", "", { ...NEW_GATEWAY, id: "other" });
    assert.equal((await ok("delete", "/other")).id, "other");
    for (const method of ["get", "delete"]) assert.deepEqual(await errorOf(method, "/other"), [404, 7002]);
  });

  it("reject invalid settings and unsupported ones, unless the unsupported ones are disabled", async () => {
    assert.deepEqual(await errorOf("post", "", NEW_GATEWAY), [409, 7003]);
    assert.deepEqual(await errorOf("post", "", { ...NEW_GATEWAY, id: "a b" }), [400, 7001]);
    for (const fields of [
      { cache_ttl: -1 },
      { log_management: 1_000_000 },
      { logpush: true },
      { retry_max_attempts: 3 },
      { guardrails: { prompt: { P1: "BLOCK" } } },
      { dlp: { enabled: true, policies: [] } },
      { otel: [{ url: "https://example.com", headers: {} }] },
    ])
      assert.deepEqual(await errorOf("put", "/g", fields), [400, 7001], JSON.stringify(fields));
    await ok("put", "/g", {
      logpush: false,
      otel: [],
      guardrails: null,
      dlp: { enabled: false, policies: [] },
      retry_delay: 0,
      stripe: null,
      workers_ai_billing_mode: "postpaid",
    });
  });

  it("list, read, change and delete logs", async () => {
    const first = await addLog();
    clock.advance(1000);
    const second = await addLog({ success: false, status: 500, responseComplete: false });
    const logs = await ok("get", "/g/logs");
    assert.deepEqual(
      logs.map((log: { id: string }) => log.id),
      [second, first],
    );
    assert.deepEqual(await ok("get", "/g/logs?success=false"), [logs[0]]);
    assert.deepEqual(await ok("get", "/g/logs?order_by=created_at&order_by_direction=asc&per_page=1"), [logs[1]]);
    const details = await ok("get", `/g/logs/${first}`);
    assert.deepEqual(
      [details.metadata, details.response_head, details.status_code],
      ['{"user":"ada"}', "data: x", 200],
    );
    assert.deepEqual(await ok("get", `/g/logs/${first}/request`), { a: 1 });
    assert.equal(await ok("get", `/g/logs/${first}/response`), "data: x");
    assert.deepEqual(await errorOf("get", `/g/logs/${second}/response`), [404, 7002]);
    await ok("patch", `/g/logs/${first}`, { feedback: -1, metadata: { user: "eve" } });
    assert.equal((await ok("get", `/g/logs/${first}`)).metadata, '{"user":"eve"}');
    assert.deepEqual(await errorOf("patch", "/g/logs/absent", { score: 1 }), [404, 7002]);
    const filters = "filters[0][key]=success&filters[0][operator]=eq&filters[0][value][0]=true";
    for (const method of ["get", "delete"]) assert.deepEqual(await errorOf(method, `/g/logs?${filters}`), [400, 7001]);
    assert.deepEqual(await ok("delete", "/g/logs?success=false"), { success: true });
    assert.equal((await ok("get", "/g/logs")).length, 1);
    await ok("delete", "/g/logs");
    assert.deepEqual(await ok("get", "/g/logs"), []);
  });
});
