import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { migrate, openSqlite } from "../../../store/index.ts";
import { listenLocally, startOpenAiServer, type OpenAiServer } from "./ai-gateway.testing.ts";
import {
  aiGatewayMigrations,
  createAiGatewayHttp,
  createAiGatewayProxy,
  createAiGateways,
  createGatewayLookup,
  defaultAiGatewaySettings,
  type AiGateways,
  type AiGatewaySettings,
} from "./index.ts";

const ACCOUNT = "a".repeat(32);
const TOKEN = "an-api-token-with-the-permission-to-run";
const OPERATOR_KEY = "the-key-of-the-operator";
const FIRST_PAGE = { page: 1, perPage: 100 };
const MESSAGES = [{ role: "user", content: "hi" }];

describe("the HTTP endpoint of AI Gateway", () => {
  const cleanups: (() => unknown)[] = [];
  const clock = createManualClock(1_800_000_000_000);
  let upstream: OpenAiServer;
  let gateways: AiGateways;
  let url = "";
  let gateway = "";
  let count = 0;
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
    const server = { url: upstream.url, key: OPERATOR_KEY, models: new Map<string, string>(), allowsRemoteUrls: false };
    const providers = new Map([
      ["workers-ai", { ...server, models: new Map([["@cf/llama", "llama"]]) }],
      ["openai", server],
      ["stopped", { ...server, url: "http://127.0.0.1:9/v1" }],
    ]);
    gateways = createAiGateways({ db, clock });
    const proxy = createAiGatewayProxy({ providers, gateways, clock, ids: randomIds, log: silentLog });
    const find = createGatewayLookup({ gateways });
    const mayRun = async (token: string, account: string) => token === TOKEN && account === ACCOUNT;
    const handle = createAiGatewayHttp({ proxy, find, mayRun, log: silentLog });
    const http = createServer((request, response) => void handle(request, response));
    url = `${await listenLocally(scope, http)}/v1/${ACCOUNT}`;
  });
  after(async () => {
    for (const stop of cleanups) await stop();
  });
  beforeEach(async () => {
    upstream.calls.length = 0;
    gateway = await create();
  });

  async function create(settings: Partial<AiGatewaySettings> = {}): Promise<string> {
    // The account has a limited number of gateways.
    if (gateway !== "") await gateways.delete(ACCOUNT, gateway);
    const id = `g${++count}`;
    await gateways.create(ACCOUNT, id, { ...defaultAiGatewaySettings, ...settings });
    return (gateway = id);
  }

  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${url}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "cf-aig-authorization": `Bearer ${TOKEN}`, ...headers },
      body: JSON.stringify(body),
    });
  const complete = (headers: Record<string, string> = {}, fields: object = {}) =>
    post(`${gateway}/openai/chat/completions`, { model: "gpt", messages: MESSAGES, ...fields }, headers);
  const contentOf = async (response: Response) =>
    ((await response.json()) as { choices: [{ message: { content: string } }] }).choices[0].message.content;
  const errorOf = async (response: Response) => {
    const { error } = (await response.json()) as { error: [{ code: number; message: string }] };
    return [response.status, error[0].code];
  };
  const ONLY_OWN_KEY = { "cf-aig-authorization": "", authorization: "Bearer sk-own" };

  it("forwards a request to the provider with the operator's key, and stores a log", async () => {
    const response = await complete({ "cf-aig-metadata": '{"user":"ada"}', cookie: "a=b" });
    assert.equal(await contentOf(response), "answer 1");
    const [call] = upstream.calls;
    assert.deepEqual([call!.path, call!.headers.authorization], ["/v1/chat/completions", `Bearer ${OPERATOR_KEY}`]);
    assert.deepEqual(
      [call!.body["model"], call!.headers.cookie, call!.headers["cf-aig-authorization"]],
      ["gpt", undefined, undefined],
    );
    const log = await gateways.log(ACCOUNT, gateway, response.headers.get("cf-aig-log-id")!);
    assert.deepEqual(
      [log.provider, log.model, log.path, log.status, log.success, log.tokensIn, log.tokensOut, log.metadata],
      ["openai", "gpt", "chat/completions", 200, true, 7, 2, { user: "ada" }],
    );
    assert.match(log.requestHead, /"content":"hi"/);
    assert.match(log.responseHead, /answer 1/);
  });

  it("passes on errors, streams and GET requests", async () => {
    const absent = await complete({}, { model: "absent" });
    assert.deepEqual([absent.status, await absent.text()], [404, '{"error":{"message":"no such model"}}']);
    const stream = await complete({}, { stream: true });
    assert.equal(stream.headers.get("content-type"), "text/event-stream");
    assert.match(await stream.text(), /answer 2.*\[DONE\]/s);
    const { items } = await gateways.logs(ACCOUNT, gateway, FIRST_PAGE);
    assert.deepEqual(items.map(({ success, status, tokensIn }) => [success, status, tokensIn]).sort(), [
      [false, 404, null],
      [true, 200, 7],
    ]);
    const models = await fetch(`${url}/${gateway}/openai/models`, {
      headers: { "cf-aig-authorization": `Bearer ${TOKEN}` },
    });
    assert.deepEqual(await models.json(), { object: "list", data: [] });
  });

  it("requires a token with the permission AI Gateway Run", async () => {
    for (const headers of [
      { "cf-aig-authorization": "" },
      { "cf-aig-authorization": "Bearer wrong" },
      { "cf-aig-authorization": TOKEN },
      ONLY_OWN_KEY,
    ])
      assert.deepEqual(await errorOf(await complete(headers)), [401, 2009]);
    const elsewhere = await fetch(`${url}/absent/openai/chat/completions`, { method: "POST", body: "{}" });
    assert.deepEqual(await errorOf(elsewhere), [401, 2009]);
    assert.equal(upstream.calls.length, 0);
    assert.deepEqual(await errorOf(await post("absent/openai/chat/completions", {})), [404, 7002]);
  });

  it("without authentication, forwards only requests with a key of their own, never with the operator's", async () => {
    await create({ authentication: false });
    const response = await complete(ONLY_OWN_KEY);
    assert.equal(response.status, 200);
    assert.equal(upstream.calls[0]!.headers.authorization, "Bearer sk-own");
    assert.deepEqual(await errorOf(await complete({ "cf-aig-authorization": "" })), [401, 2009]);
    const workersAi = await post(`${gateway}/workers-ai/v1/chat/completions`, { model: "m" }, ONLY_OWN_KEY);
    assert.deepEqual(await errorOf(workersAi), [401, 2009]);
    const compat = await post(`${gateway}/compat/chat/completions`, { model: "workers-ai/m" }, ONLY_OWN_KEY);
    assert.deepEqual(await errorOf(compat), [401, 2009]);
    assert.equal(upstream.calls.length, 1);
  });

  it("selects the provider by the model at the compat endpoint, and accepts the token as the key of an SDK", async () => {
    const headers = { "cf-aig-authorization": "", authorization: `Bearer ${TOKEN}` };
    const model = "workers-ai/@cf/llama";
    const response = await post(`${gateway}/compat/chat/completions`, { model, messages: MESSAGES }, headers);
    assert.equal(await contentOf(response), "answer 1");
    const { path, body, headers: sent } = upstream.calls[0]!;
    assert.deepEqual([path, body["model"]], ["/v1/chat/completions", "llama"]);
    assert.equal(sent.authorization, `Bearer ${OPERATOR_KEY}`, "the token is not sent to the provider");
    for (const unknown of ["gpt", "unknown/gpt", 7])
      assert.equal((await post(`${gateway}/compat/chat/completions`, { model: unknown })).status, 400);
  });

  it("runs Workers AI models in the format of Workers AI", async () => {
    const response = await post(`${gateway}/workers-ai/@cf/llama`, { prompt: "hi" });
    const { result, success } = (await response.json()) as { result: { response: string }; success: boolean };
    assert.deepEqual([result.response, success, upstream.calls[0]!.body["model"]], ["answer 1", true, "llama"]);
    const stream = await post(`${gateway}/workers-ai/@cf/llama`, { prompt: "hi", stream: true });
    assert.match(await stream.text(), /^data: \{"response":"answer 2"\}\n\n.*data: \[DONE\]\n\n$/s);
    const { items } = await gateways.logs(ACCOUNT, gateway, FIRST_PAGE);
    assert.deepEqual(
      items.map(({ success, path, model, tokensOut }) => [success, path, model, tokensOut]),
      [1, 2].map(() => [true, "@cf/llama", "@cf/llama", 2]),
    );
    for (const status of ["MISS", "HIT"]) {
      const cached = await post(
        `${gateway}/workers-ai/@cf/llama`,
        { prompt: "hi", stream: true },
        { "cf-aig-cache-ttl": "60" },
      );
      assert.equal(cached.headers.get("cf-aig-cache-status"), status);
      assert.match(await cached.text(), /^data: \{"response":"answer 3"\}/);
    }
    const absent = await post(`${gateway}/workers-ai/absent`, { prompt: "hi" });
    assert.deepEqual(
      [absent.status, ((await absent.json()) as { errors: [{ message: string }] }).errors[0].message],
      [404, "no such model"],
    );
    assert.equal((await post(`${gateway}/workers-ai/@cf/llama`, { image: [1] })).status, 400);
  });

  it("caches successful responses for the lifetime of the gateway or the request", async () => {
    await create({ cacheTtl: 60 });
    const status = async (headers?: Record<string, string>, fields?: object) => {
      const response = await complete(headers, fields);
      return [
        response.headers.get("cf-aig-cache-status"),
        await response.text().then((body) => /answer \d/.exec(body)?.[0]),
      ];
    };
    assert.deepEqual(await status(), ["MISS", "answer 1"]);
    assert.deepEqual(await status(), ["HIT", "answer 1"]);
    assert.deepEqual(await status({}, { seed: 1 }), ["MISS", "answer 2"]);
    assert.deepEqual(await status({ authorization: "Bearer sk-own" }), ["MISS", "answer 3"]);
    assert.deepEqual(await status({ "cf-aig-skip-cache": "true" }), [null, "answer 4"]);
    assert.deepEqual(await status({ "cf-aig-cache-key": "k", "cf-aig-cache-ttl": "120" }), ["MISS", "answer 5"]);
    assert.deepEqual(await status({ "cf-aig-cache-key": "k" }, { seed: 2 }), ["HIT", "answer 5"]);
    assert.deepEqual(await status({}, { stream: true }), ["MISS", "answer 6"]);
    assert.deepEqual(await status({}, { stream: true }), ["HIT", "answer 6"]);
    clock.advance(61_000);
    assert.deepEqual(await status(), ["MISS", "answer 7"]);
    assert.deepEqual(await status({ "cf-aig-cache-key": "k" }), ["HIT", "answer 5"]);
    for (let n = 0; n < 2; n++) assert.deepEqual(await status({}, { model: "absent" }), ["MISS", undefined]);
    const { items } = await gateways.logs(ACCOUNT, gateway, FIRST_PAGE, { cached: true });
    assert.equal(items.length, 4);
  });

  it("limits requests per interval, in fixed and sliding windows", async () => {
    for (const [rateLimitTechnique, statuses] of [
      ["fixed", [200, 200, 429, 200, 200, 429]],
      ["sliding", [200, 200, 429, 200, 429, 429]],
    ] as const) {
      await create({ rateLimit: 2, rateLimitInterval: 60, rateLimitTechnique });
      // Advances to the beginning of a period.
      clock.advance(60_000 - (clock.now() % 60_000));
      const found: number[] = [];
      for (let n = 0; n < 6; n++) {
        if (n === 3) clock.advance(90_000);
        found.push((await complete()).status);
      }
      assert.deepEqual(found, statuses, rateLimitTechnique);
    }
  });

  it("tries the next request of a list after an error", async () => {
    const step = (provider: string, model: string) => ({
      provider,
      endpoint: "chat/completions",
      headers: { "cf-aig-metadata": { step: `${model} ☕` } },
      query: { model, messages: MESSAGES },
    });
    const response = await post(gateway, [step("stopped", "a"), step("openai", "absent"), step("openai", "c")]);
    assert.deepEqual([await contentOf(response), response.headers.get("cf-aig-step")], ["answer 2", "2"]);
    const failed = await post(gateway, [step("openai", "c1"), step("stopped", "c2")].reverse().slice(0, 1));
    assert.deepEqual(await errorOf(failed), [502, 2015]);
    const { items } = await gateways.logs(ACCOUNT, gateway, FIRST_PAGE);
    assert.deepEqual(items.map(({ model, status }) => `${model} ${status}`).sort(), [
      "a 502",
      "absent 404",
      "c 200",
      "c2 502",
    ]);
    assert.deepEqual(items.find(({ model }) => model === "c")!.metadata, { step: "c ☕" });
    const invalidHeader = [{ provider: "openai", endpoint: "x", headers: { "a b": "c" }, query: {} }];
    for (const bad of [
      [],
      {},
      "x",
      invalidHeader,
      [{ provider: "openai" }],
      Array.from({ length: 6 }, () => step("openai", "c")),
    ])
      assert.equal((await post(gateway, bad)).status, 400);
  });

  it("stores no log if the gateway or the request says so", async () => {
    await (await complete({ "cf-aig-collect-log": "false" })).text();
    assert.equal((await gateways.logs(ACCOUNT, gateway, FIRST_PAGE)).total, 0);
    await create({ collectLogs: false });
    await (await complete()).text();
    assert.equal((await gateways.logs(ACCOUNT, gateway, FIRST_PAGE)).total, 0);
    await (await complete({ "cf-aig-collect-log": "true" })).text();
    assert.equal((await gateways.logs(ACCOUNT, gateway, FIRST_PAGE)).total, 1);
  });

  it("rejects unknown providers, other methods, invalid headers, and paths outside of the provider's URL", async () => {
    assert.deepEqual(await errorOf(await post(`${gateway}/absent/chat/completions`, {})), [400, 2008]);
    const put = await fetch(`${url}/${gateway}/openai/x`, {
      method: "PUT",
      headers: { "cf-aig-authorization": `Bearer ${TOKEN}` },
    });
    assert.deepEqual(await errorOf(put), [400, 2004]);
    for (const [name, value] of [
      ["cf-aig-cache-ttl", "soon"],
      ["cf-aig-skip-cache", "yes"],
      ["cf-aig-metadata", "[]"],
    ] as const)
      assert.deepEqual(await errorOf(await complete({ [name]: value })), [400, 2004]);
    for (const endpoint of ["../admin", "..%2f..%2fadmin/../../..", "x/%2e%2e/%2e%2e/admin"]) {
      for (const headers of [{}, { authorization: "Bearer sk-own" }]) {
        const step = { provider: "openai", endpoint, query: {}, headers };
        assert.deepEqual(await errorOf(await post(gateway, step)), [400, 2004], endpoint);
      }
    }
    assert.equal(upstream.calls.length, 0);
  });

  it("passes only requests that run or list models to a provider, if they use the operator's key", async () => {
    for (const endpoint of ["files", "fine_tuning/jobs", "responses/resp_1/cancel", "chat/completions/../../v1/files"])
      assert.deepEqual(await errorOf(await post(`${gateway}/openai/${endpoint}`, {})), [400, 2004], endpoint);
    const get = (path: string) =>
      fetch(`${url}/${gateway}/openai/${path}`, { headers: { "cf-aig-authorization": `Bearer ${TOKEN}` } });
    assert.deepEqual(await errorOf(await get("files")), [400, 2004]);
    assert.equal(upstream.calls.length, 0);
    const withOwnKey = { authorization: "Bearer sk-own" };
    assert.equal((await post(`${gateway}/openai/files`, {}, withOwnKey)).status, 200);
  });

  it("rejects URLs that the server of the provider would fetch", async () => {
    const image = (imageUrl: string) => [
      { role: "user", content: [{ type: "image_url", image_url: { url: imageUrl } }] },
    ];
    for (const fields of [
      { messages: image("http://10.0.0.1/") },
      { messages: [], input: image("file:///etc/passwd") },
    ])
      assert.deepEqual(await errorOf(await complete({}, fields)), [400, 2004]);
    assert.equal(upstream.calls.length, 0);
    assert.equal((await complete({}, { messages: image("data:image/png;base64,AA==") })).status, 200);
  });

  it("creates the gateway `default` for an authenticated request only", async () => {
    const path = "default/openai/chat/completions";
    assert.equal((await post(path, {}, { "cf-aig-authorization": "" })).status, 401);
    await assert.rejects(gateways.get(ACCOUNT, "default"));
    assert.equal((await post(path, {})).status, 200);
    assert.equal((await gateways.get(ACCOUNT, "default")).authentication, true);
  });
});
