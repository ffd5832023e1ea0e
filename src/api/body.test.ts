import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { once } from "node:events";
import { Writable } from "node:stream";
import { test } from "node:test";
import { z } from "@hono/zod-openapi";
import { createLog } from "../kernel/index.ts";
import { startApi, TEST_ACCOUNT, TEST_TOKEN } from "./api.testing.ts";
import { respond, route, type Route } from "./operation.ts";

const MIB = 1024 * 1024;
const path = `/accounts/${TEST_ACCOUNT}/things`;
const operation = { tag: "Things", permission: null, maxBytes: 16 * MIB } as const;

const counting = (): Route[] => [
  route(
    {
      ...operation,
      id: "numbers",
      method: "post",
      path: "/accounts/{account_id}/things",
      summary: "Numbers",
      body: z.array(z.string()),
      result: z.number(),
    },
    async ({ body }) => respond(body.length),
  ),
  route(
    {
      ...operation,
      id: "many",
      method: "put",
      path: "/accounts/{account_id}/things",
      summary: "Many",
      maxValues: 200_000,
      body: z.array(z.number()),
      result: z.number(),
    },
    async ({ body }) => respond(body.length),
  ),
  route(
    {
      ...operation,
      id: "form",
      method: "patch",
      path: "/accounts/{account_id}/things",
      summary: "Form",
      result: z.number(),
    },
    async ({ form }) => respond([...(await form())].length),
  ),
];
const list = (values: number) => `[${"0,".repeat(values - 1)}0]`;

test("rejects a body with too many values before it is parsed", async (t) => {
  const { call } = await startApi(t, { routes: counting() });
  const refused = await call("post", path, { body: list(4_000_000) });
  assert.deepEqual([refused.status, refused.body.errors[0].code, refused.body.errors.length], [413, 10413, 1]);
  assert.equal((await call("put", path, { body: list(190_000) })).body.result, 190_000);
  assert.equal((await call("put", path, { body: list(210_000) })).status, 413);
  const deep = await call("post", path, { body: "[".repeat(100_000) });
  assert.deepEqual([deep.status, deep.body.errors[0].code], [400, 6007]);
});

test("rejects a form with a million parts before creating any of them", async (t) => {
  const { call } = await startApi(t, { routes: counting() });
  const form = (parts: number) => ({
    body: `${'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n'.repeat(parts)}--b--\r\n`,
    headers: { "content-type": 'multipart/form-data; boundary="b"' },
  });
  assert.equal((await call("patch", path, form(5000))).body.result, 5000);
  const refused = await call("patch", path, form(5001));
  assert.deepEqual([refused.status, refused.body.errors[0].code], [400, 10021]);
});

test(
  "rejects bodies that together exceed the memory limit, until one of them finishes",
  { timeout: 60_000 },
  async (t) => {
    const held = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const routes = [
      route(
        {
          ...operation,
          id: "hold",
          method: "put",
          path: "/accounts/{account_id}/things",
          summary: "Hold",
          result: z.number(),
        },
        async ({ bytes, request }) => {
          const { length } = await bytes();
          if (request.headers.has("x-hold")) {
            arrived.resolve();
            await held.promise;
          }
          return respond(length);
        },
      ),
    ];
    const { call } = await startApi(t, { routes, bodyMemory: 10 * MIB });
    const body = Buffer.alloc(6 * MIB);
    const first = call("put", path, { body, headers: { "x-hold": "1" } });
    await arrived.promise;
    const refused = await call("put", path, { body });
    assert.deepEqual(
      [refused.status, refused.body.errors[0].code, refused.headers.get("retry-after")],
      [503, 10014, "1"],
    );
    assert.equal(
      (await call("put", path, { body: Buffer.alloc(60_000) })).body.result,
      60_000,
      "small bodies are always accepted",
    );
    held.resolve();
    assert.equal((await first).body.result, body.length);
    assert.equal((await call("put", path, { body })).body.result, body.length);
  },
);

test(
  "a client that disconnects while sending its body does not cause a server error",
  { timeout: 60_000 },
  async (t) => {
    const ended = Promise.withResolvers<void>();
    const lines: string[] = [];
    const log = createLog({
      level: "info",
      destination: new Writable({
        write: (line: Buffer, _, done) => {
          lines.push(line.toString());
          ended.resolve();
          done();
        },
      }),
    });
    const { url } = await startApi(t, { routes: counting(), log });
    const request = httpRequest(`${url}${path}`, {
      method: "PUT",
      headers: { authorization: `Bearer ${TEST_TOKEN}`, "content-length": "1000" },
    });
    request.on("error", () => {});
    request.write("[1,");
    await once(request, "socket");
    request.socket!.once("connect", () => setImmediate(() => request.destroy()));
    await ended.promise;
    assert.deepEqual(
      lines.map((line) => [JSON.parse(line).level, JSON.parse(line).status]),
      [[30, 400]],
    );
  },
);
