import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { z } from "@hono/zod-openapi";
import type { Caller } from "../accounts/index.ts";
import {
  startApi,
  TEST_ACCOUNT,
  TEST_TOKEN,
  TEST_ZONE,
  unrestrictedCaller,
  type TestApiOptions,
} from "./api.testing.ts";
import { respond, route } from "./operation.ts";

const PATH = `/zones/${TEST_ZONE}/things/a`;

/** Serves one read operation that has a version. `state` is what the process has in memory. */
async function setUp(t: TestContext, options: Partial<TestApiOptions> = {}) {
  const state: {
    caller: Caller | undefined;
    zone: string | undefined;
    version: number;
    reads: number;
    lookups: number;
  } = {
    caller: unrestrictedCaller,
    zone: TEST_ACCOUNT,
    version: 1,
    reads: 0,
    lookups: 0,
  };
  const read = route(
    {
      id: "read",
      method: "get",
      path: "/zones/{zone_id}/things/{name}",
      tag: "Test",
      summary: "Read",
      permission: "DNS Read",
      version: () => state.version,
      result: z.object({ name: z.string(), reads: z.number() }),
    },
    async ({ params }) => respond({ name: params["name"]!, reads: ++state.reads }),
  );
  const api = await startApi(t, {
    routes: [read],
    ...options,
    accessControl: {
      authenticate: async ({ secret }) => {
        state.lookups++;
        return secret === TEST_TOKEN ? state.caller : undefined;
      },
      zoneAccount: async (id) => (id === TEST_ZONE ? state.zone : undefined),
      cached: {
        authenticate: ({ secret }) => (secret === TEST_TOKEN ? state.caller : undefined),
        zoneAccount: (id) => (id === TEST_ZONE ? state.zone : undefined),
      },
    },
  });
  const get = async (headers: Record<string, string> = {}) => {
    const { status, body, headers: answered } = await api.call("get", PATH, { headers });
    return { status, reads: body.result?.reads as number | undefined, answered };
  };
  return { state, get };
}

test("serves a repeated read from memory, until the version changes", async (t) => {
  const { state, get } = await setUp(t);
  await get();
  const first = await get();
  const second = await get();
  assert.deepEqual([first.reads, second.reads, state.lookups], [2, 2, 2]);
  assert.notEqual(first.answered.get("x-request-id"), second.answered.get("x-request-id"));
  const [names, repeatedNames] = [first, second].map(({ answered }) =>
    [...answered.keys()].filter((name) => name !== "date"),
  );
  assert.deepEqual(repeatedNames, names);
  state.version++;
  assert.equal((await get()).reads, 3);
});

test("checks token, permission and zone before it serves a read from memory", async (t) => {
  const { state, get } = await setUp(t);
  for (let read = 0; read < 2; read++) assert.equal((await get()).status, 200);
  assert.equal((await get({ authorization: "Bearer another" })).status, 401);
  assert.equal((await get({ authorization: "Basic x" })).status, 400);
  state.caller = { ...unrestrictedCaller, allows: (permission) => permission !== "DNS Read" };
  assert.equal((await get()).status, 403);
  state.caller = { ...unrestrictedCaller, secondFactorRequired: true };
  assert.equal((await get()).status, 403);
  state.caller = unrestrictedCaller;
  state.zone = undefined;
  assert.equal((await get()).status, 404);
  state.zone = TEST_ACCOUNT;
  state.caller = undefined;
  assert.equal((await get()).status, 401);
});

test("counts reads from memory towards the rate limit", async (t) => {
  const { get } = await setUp(t, { rateLimit: { requests: 4, seconds: 60 } });
  const statuses = [];
  for (let i = 0; i < 5; i++) statuses.push((await get()).status);
  assert.deepEqual(statuses, [200, 200, 200, 200, 429]);
});
