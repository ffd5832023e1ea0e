import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { Script } from "node:vm";
import { z } from "@hono/zod-openapi";
import { defineErrors } from "../kernel/index.ts";
import { unrestrictedCaller, startApi, TEST_ACCOUNT, TEST_ZONE } from "./api.testing.ts";
import { respond, respondWithPage, route } from "./operation.ts";
import { pageQuery, pageRequest } from "./paging.ts";

const errors = defineErrors("things", {
  gone: { code: 10007, http: 404, message: "There is no {name}.", fix: "Make {name} first." },
  worded: { code: "E_THING", http: 409, message: "in use" },
  final: { code: 10008, http: 409, permanent: true, message: "used up" },
});
const stock = Array.from({ length: 45 }, (_, index) => ({ id: `t${index}` }));
const thing = z.object({ id: z.string() });

const routes = [
  route(
    {
      id: "list",
      method: "get",
      path: "/accounts/{account_id}/things",
      tag: "Things",
      summary: "List",
      permission: "Workers Scripts Read",
      query: z.object(pageQuery()),
      result: z.array(thing),
    },
    async ({ query }) => {
      const page = pageRequest(query);
      return respondWithPage(
        { items: stock.slice((page.page - 1) * page.perPage, page.page * page.perPage), total: stock.length },
        page,
        (item) => item,
      );
    },
  ),
  route(
    {
      id: "exact",
      method: "get",
      path: "/accounts/{account_id}/things/verify",
      tag: "Things",
      summary: "Exact",
      permission: null,
      result: z.string(),
    },
    async () => respond("exact"),
  ),
  route(
    {
      id: "get",
      method: "get",
      path: "/accounts/{account_id}/things/{thing_id}",
      tag: "Things",
      summary: "Get",
      permission: "Workers Scripts Read",
      result: thing,
    },
    async ({ params }) => {
      if (params.thing_id === "bug") throw new TypeError("a bug");
      if (params.thing_id === "worded") throw errors.worded();
      if (params.thing_id === "final") throw errors.final();
      if (params.thing_id === "misshapen") return respond({ id: 7 } as never);
      if (params.thing_id !== "t1") throw errors.gone({ name: params.thing_id });
      return respond({ id: "t1" });
    },
  ),
  route(
    {
      id: "put",
      method: "put",
      path: "/accounts/{account_id}/things/{thing_id}",
      tag: "Things",
      summary: "Put",
      permission: "Workers Scripts Write",
      body: z.object({ name: z.string(), size: z.number().int() }),
      maxBytes: 1000,
      result: z.object({ name: z.string() }),
    },
    async ({ body }) => respond({ name: body.name }),
  ),
  route(
    {
      id: "rest",
      method: "get",
      path: "/zones/{zone_id}/files/{key+}",
      tag: "Things",
      summary: "Rest",
      permission: "DNS Read",
      raw: "text/plain",
    },
    async ({ params }) => new Response(params.key),
  ),
];
const base = `/accounts/${TEST_ACCOUNT}/things`;

test("a page has a result_info, a page past the end is empty, and an excessive page size is reduced", async (t) => {
  const { call } = await startApi(t, { routes });
  const last = await call("get", base, { query: { page: 3 } });
  assert.deepEqual(last.body, {
    success: true,
    errors: [],
    messages: [],
    result: stock.slice(40),
    result_info: { page: 3, per_page: 20, count: 5, total_count: 45, total_pages: 3 },
  });
  assert.deepEqual((await call("get", base, { query: { page: 4 } })).body.result, []);
  const whole = await call("get", base, { query: { per_page: 1_000_000 } });
  assert.equal(whole.body.result_info.per_page, 1000);
  for (const page of ["0", "-1", "x", "1.5", "1e99"])
    assert.equal((await call("get", base, { query: { page } })).status, 400, page);
});

test("authenticates the caller before any other check", async (t) => {
  const { call } = await startApi(t, { routes });
  const refused = async (headers: Record<string, string>) => {
    const { status, body } = await call("get", base, { headers });
    return [status, body.errors[0].code, body.errors[0].error_chain?.[0].code];
  };
  const api = await startApi(t, { routes });
  const bare = await fetch(`${api.url}${base}`);
  assert.deepEqual([bare.status, ((await bare.json()) as { errors: { code: number }[] }).errors[0]!.code], [400, 9106]);
  assert.deepEqual(await refused({ authorization: "Basic abc" }), [400, 6003, 6111]);
  assert.deepEqual((await refused({ authorization: "Bearer nobody" })).slice(0, 2), [401, 10000]);
});

test("distinguishes a missing permission, an unknown account and an unknown zone", async (t) => {
  const { call } = await startApi(t, {
    routes,
    caller: { ...unrestrictedCaller, allows: (permission) => permission === "DNS Read" },
  });
  const refused = await call("get", base);
  assert.deepEqual([refused.status, refused.body.errors[0].code], [403, 9109]);
  assert.match(refused.body.errors[0].error_chain[0].message, /Workers Scripts Read/);
  assert.deepEqual((await call("get", `/accounts/${"0".repeat(32)}/things`)).body.errors[0].code, 7003);
  assert.equal((await call("get", `/zones/${TEST_ZONE}/files/a/b%2Fc`)).text, "a/b/c");
  assert.deepEqual((await call("get", `/zones/${"0".repeat(32)}/files/a`)).body.errors[0].code, 7003);
});

test("converts thrown errors to envelopes: user errors with their text, internal errors with a reference to the log", async (t) => {
  const { call } = await startApi(t, { routes });
  const gone = await call("get", `${base}/zzz`);
  assert.deepEqual(
    [gone.status, gone.body],
    [
      404,
      {
        success: false,
        errors: [
          { code: 10007, message: "There is no zzz.", error_chain: [{ code: 10007, message: "Make zzz first." }] },
        ],
        messages: [],
        result: null,
      },
    ],
  );
  const worded = await call("get", `${base}/worded`);
  assert.deepEqual(
    [worded.status, worded.body.errors[0].code, worded.body.errors[0].error_chain[0].message],
    [409, 10002, "E_THING"],
  );
  assert.deepEqual(
    [worded, await call("get", `${base}/final`)].map(({ status, headers }) => [status, headers.get("x-should-retry")]),
    [
      [409, null],
      [409, "false"],
    ],
  );
  const bug = await call("get", `${base}/bug`);
  assert.equal(bug.status, 500);
  assert.ok(bug.body.errors[0].message.includes(bug.headers.get("x-request-id")));
  assert.equal((await call("get", `${base}/misshapen`)).status, 500);
  assert.equal((await call("get", `${base}/verify`)).body.result, "exact");
});

test("parses the body as JSON regardless of its content type, and reports the names of invalid fields", async (t) => {
  const { call } = await startApi(t, { routes });
  const put = (body: unknown, headers: Record<string, string> = {}) => call("put", `${base}/t1`, { body, headers });
  assert.equal(
    (await put('{"name":"n","size":1}', { "content-type": "text/plain;charset=UTF-8" })).body.result.name,
    "n",
  );
  const wrong = await put({ name: 5, size: "x" });
  assert.equal(wrong.status, 400);
  assert.deepEqual(
    wrong.body.errors[0].error_chain.map(({ source }: { source: { pointer: string } }) => source.pointer),
    ["/name", "/size"],
  );
  assert.deepEqual([(await put("{")).status, (await put("{")).body.errors[0].code], [400, 6007]);
  assert.equal((await put(new Uint8Array([0xff, 0x22]))).body.errors[0].code, 6007);
  assert.equal((await put("")).status, 400);
  const large = await put(JSON.stringify({ name: "x".repeat(2000), size: 1 }));
  assert.deepEqual([large.status, large.body.errors[0].code], [413, 10413]);
});

test("reports unknown URIs and methods", async (t) => {
  const { call, url } = await startApi(t, { routes });
  assert.deepEqual(
    [(await call("get", "/nothing")).status, (await call("get", "/nothing")).body.errors[0].code],
    [404, 7000],
  );
  const method = await call("delete", `${base}/t1`);
  assert.deepEqual([method.status, method.headers.get("allow")], [405, "GET, PUT"]);
  const preflight = await fetch(`${url}${base}`, { method: "OPTIONS" });
  assert.deepEqual([preflight.status, preflight.headers.get("access-control-allow-origin")], [204, "*"]);
});

test("reports the retry delay if a token exceeds its rate limit", async (t) => {
  const { call } = await startApi(t, { routes, rateLimit: { requests: 2, seconds: 60 } });
  await call("get", base);
  await call("get", base);
  const { status, headers, body } = await call("get", base);
  assert.deepEqual([status, body.errors[0].code], [429, 971]);
  const wait = Number(headers.get("retry-after"));
  assert.ok(wait > 0 && wait <= 60, String(wait));
});

test("rejects a network that guesses tokens, without looking the tokens up, and still serves its valid tokens", async (t) => {
  let requested = 0;
  const { url } = await startApi(t, {
    routes,
    rateLimit: { requests: 3, seconds: 60 },
    accessControl: {
      authenticate: async ({ secret }) => (requested++, secret === "valid" ? unrestrictedCaller : undefined),
      isKnown: (secret) => secret === "valid",
      accountExists: async () => true,
      zoneAccount: async () => TEST_ACCOUNT,
    },
  });
  const path = `${url}${base}`;
  const ask = async (token: string) => {
    const response = await fetch(path, { headers: { authorization: `Bearer ${token}` } });
    await response.arrayBuffer();
    return response.status;
  };
  assert.equal((await ask("guess")) >= 400, true);
  for (let i = 0; i < 2; i++) await ask(`guess-${i}`);
  const before = requested;
  assert.deepEqual([await ask("guess-again"), requested], [429, before]);
  assert.equal(await ask("valid"), 200);
});

test("the API page runs only its own script and cannot be embedded in a frame", async (t) => {
  const { url } = await startApi(t, { routes });
  const { headers } = await fetch(`${url}/docs`);
  assert.match(
    headers.get("content-security-policy")!,
    /^default-src 'none'; script-src 'sha256-.*frame-ancestors 'none'$/,
  );
  assert.equal(headers.get("x-content-type-options"), "nosniff");
});

test("the Content-Security-Policy of the API page contains the hashes of its script and style", async (t) => {
  const { url } = await startApi(t, { routes });
  const response = await fetch(`${url}/docs`);
  const page = await response.text();
  for (const name of ["script", "style"]) {
    const [, text] = new RegExp(`<${name}>([^]*)</${name}>`).exec(page)!;
    const hash = createHash("sha256").update(text!).digest("base64");
    assert.ok(response.headers.get("content-security-policy")!.includes(`${name}-src 'sha256-${hash}'`), name);
  }
});

test("the OpenAPI document describes the routes", async (t) => {
  const { url } = await startApi(t, { routes });
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
    openapi: string;
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  assert.equal(document.openapi, "3.1.0");
  assert.equal(document.paths["/accounts/{account_id}/things/{thing_id}"]!.get!.operationId, "get");
  assert.ok(document.paths["/zones/{zone_id}/files/{key}"]);
  const page = await (await fetch(`${url}/docs`)).text();
  for (const { operation } of routes)
    assert.ok(
      page.includes(`<details id="${operation.id}">`) &&
        page.includes(operation.path.replace("+}", "}")) &&
        page.includes(operation.summary),
      operation.id,
    );
  // Throws on a syntax error, as a browser would; no other test parses the script.
  assert.ok(new Script(/<script>([^]*)<\/script>/.exec(page)![1]!));
});
