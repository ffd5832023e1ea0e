import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test, type TestContext } from "node:test";
import { z } from "@hono/zod-openapi";
import type { AuditEvent } from "../accounts/index.ts";
import { defineErrors } from "../kernel/index.ts";
import { startApi, TEST_ACCOUNT, TEST_ZONE, unrestrictedCaller } from "./api.testing.ts";
import { respond, route, type Route } from "./operation.ts";
import { pageQuery } from "./paging.ts";
import { secretField } from "./secret-fields.ts";

const errors = defineErrors("things", { gone: { code: 10007, http: 404, message: "The {name} does not exist." } });
const thing = z.object({ id: z.string(), size: z.number(), key: secretField(z.string()).optional() });
const PATH = "/accounts/{account_id}/things";

/** Returns the routes of a typical resource: list, create, read and change things by id. */
function thingRoutes(): Route[] {
  const things = new Map<string, z.infer<typeof thing>>();
  const shared = { tag: "Things", permission: "Workers Scripts Write" } as const;
  const find = (id: string) => {
    const found = things.get(id);
    if (found === undefined) throw errors.gone({ name: id });
    return found;
  };
  return [
    route(
      {
        ...shared,
        id: "list",
        method: "get",
        path: PATH,
        summary: "List",
        query: z.object(pageQuery()),
        result: z.array(thing),
      },
      async () => respond([...things.values()]),
    ),
    route(
      {
        ...shared,
        id: "create",
        method: "post",
        path: PATH,
        summary: "Create a thing",
        body: z.object({ id: z.string() }),
        result: thing,
      },
      async ({ body }) => {
        things.set(body.id, { id: body.id, size: 1, key: "hunter2" });
        return respond(find(body.id));
      },
    ),
    route(
      { ...shared, id: "get", method: "get", path: `${PATH}/{thing_id}`, summary: "Get", result: thing },
      async ({ params }) => respond(find(params.thing_id!)),
    ),
    route(
      {
        ...shared,
        id: "put",
        method: "put",
        path: `${PATH}/{thing_id}`,
        summary: "Replace a thing",
        body: z.object({ size: z.number() }),
        result: thing,
      },
      async ({ params, body }) => {
        things.set(params.thing_id!, { id: params.thing_id!, size: body.size, key: "hunter2" });
        return respond(find(params.thing_id!));
      },
    ),
    route(
      {
        ...shared,
        id: "delete",
        method: "delete",
        path: `${PATH}/{thing_id}`,
        summary: "Delete a thing",
        result: z.object({ id: z.string() }),
      },
      async ({ params }) => {
        things.delete(find(params.thing_id!).id);
        return respond({ id: params.thing_id! });
      },
    ),
    route(
      {
        ...shared,
        id: "grow",
        method: "post",
        path: `${PATH}/{thing_id}/grow`,
        summary: "Grow a thing",
        result: thing,
      },
      async ({ params }) => respond(find(params.thing_id!)),
    ),
    route(
      { ...shared, id: "refuse", method: "delete", path: `${PATH}/{thing_id}/refused`, summary: "Refuse" },
      async () => new Response(null, { status: 409 }),
    ),
    route(
      {
        ...shared,
        id: "value",
        method: "put",
        path: `${PATH}/{thing_id}/value`,
        summary: "Write a value",
        audit: false,
        result: z.null(),
      },
      async () => respond(null),
    ),
    route(
      {
        tag: "Things",
        permission: "DNS Write",
        id: "zone-raw",
        method: "delete",
        path: "/zones/{zone_id}/raw",
        summary: "Delete",
      },
      async () => new Response(null, { status: 204 }),
    ),
    route(
      {
        tag: "Things",
        permission: null,
        id: "moved",
        method: "post",
        path: "/moved",
        summary: "Move",
        audit: { account: ({ after }) => (after as { account: string }).account },
        result: z.object({ id: z.string(), account: z.string() }),
      },
      async () => respond({ id: "m", account: TEST_ACCOUNT }),
    ),
    route(
      {
        tag: "Things",
        permission: "User Details Write",
        id: "self",
        method: "patch",
        path: "/self",
        summary: "Edit the user",
        result: z.object({ id: z.string() }),
      },
      async () => respond({ id: "u" }),
    ),
  ];
}

async function setUp(t: TestContext, routes = thingRoutes()) {
  const recorded: AuditEvent[] = [];
  const api = await startApi(t, {
    routes,
    changes: { audit: { record: async (event) => void recorded.push(event) }, zoneName: async () => "example.com" },
  });
  const base = `/accounts/${TEST_ACCOUNT}/things`;
  return { api, recorded, base, last: () => recorded.at(-1)! };
}

test("records who changed what, from where, with both values and without secrets", async (t) => {
  const { api, recorded, base, last } = await setUp(t);
  const { headers } = await api.call("post", `${base}?verbose=1`, {
    body: { id: "t1" },
    headers: { "user-agent": "curl/8" },
  });
  assert.deepEqual(last(), {
    actor: unrestrictedCaller.user,
    interface: "API",
    credential: unrestrictedCaller.tokenId,
    ip: "127.0.0.1",
    userAgent: "curl/8",
    request: { id: headers.get("x-request-id"), method: "POST", path: base, params: { account_id: TEST_ACCOUNT } },
    operation: "create",
    summary: "Create a thing",
    action: "create",
    account: TEST_ACCOUNT,
    zone: undefined,
    resource: { type: "things", id: "t1" },
    before: undefined,
    after: { id: "t1", size: 1, key: "[redacted]" },
  });

  await api.call("put", `${base}/t1`, { body: { size: 2 } });
  assert.deepEqual(
    [last().action, last().resource, last().before, last().after],
    [
      "update",
      { type: "things", id: "t1" },
      { id: "t1", size: 1, key: "[redacted]" },
      { id: "t1", size: 2, key: "[redacted]" },
    ],
  );
  await api.call("put", `${base}/new`, { body: { size: 3 } });
  assert.deepEqual([last().action, last().before], ["create", undefined]);
  await api.call("post", `${base}/t1/grow`);
  assert.deepEqual([last().action, last().resource], ["update", { type: "things", id: "t1" }]);
  await api.call("delete", `${base}/t1`);
  assert.deepEqual(
    [last().action, last().before, last().after],
    ["delete", { id: "t1", size: 2, key: "[redacted]" }, undefined],
  );
  assert.equal(recorded.length, 5);
});

test("does not record reads, rejected changes or operations on data", async (t) => {
  const { api, recorded, base } = await setUp(t);
  const statuses = [
    await api.call("get", base),
    await api.call("delete", `${base}/missing`),
    await api.call("put", `${base}/t1`, { body: { size: "large" } }),
    await api.call("delete", `${base}/t1/refused`),
    await api.call("put", `${base}/t1/value`),
  ].map(({ status }) => status);
  assert.deepEqual([statuses, recorded], [[200, 404, 400, 409, 200], []]);
});

test("derives account and zone from the path, or as declared", async (t) => {
  const { api, last } = await setUp(t);
  await api.call("delete", `/zones/${TEST_ZONE}/raw`);
  assert.deepEqual(
    [last().account, last().zone, last().resource],
    [TEST_ACCOUNT, { id: TEST_ZONE, name: "example.com" }, { type: "raw" }],
  );
  await api.call("post", "/moved");
  assert.deepEqual([last().account, last().resource], [TEST_ACCOUNT, { type: "moved", id: "m" }]);
  await api.call("patch", "/self");
  assert.deepEqual([last().account, last().resource], [undefined, { type: "self", id: "u" }]);
});

test("records a change before its response is sent", async (t) => {
  let outgoing: ServerResponse | undefined;
  const routes = thingRoutes().map(({ operation, handle }): Route => ({
    operation,
    handle: (call) => ((outgoing = call.node.outgoing), handle(call)),
  }));
  const wasSent = Promise.withResolvers<boolean>();
  const record = async () => {
    await new Promise((resolve) => setImmediate(resolve));
    wasSent.resolve(outgoing!.headersSent);
  };
  const api = await startApi(t, { routes, changes: { audit: { record } } });
  const { status } = await api.call("post", `/accounts/${TEST_ACCOUNT}/things`, { body: { id: "t1" } });
  assert.deepEqual([status, await wasSent.promise], [200, false]);
});

test("a value that cannot be read does not prevent the change", async (t) => {
  const routes = thingRoutes().map(({ operation, handle }) =>
    operation.id === "get"
      ? { operation, handle: () => Promise.reject(new TypeError("a bug")) }
      : { operation, handle },
  );
  const { api, base, last } = await setUp(t, routes);
  assert.equal((await api.call("put", `${base}/t1`, { body: { size: 2 } })).status, 200);
  assert.deepEqual([last().operation, last().before], ["put", undefined]);
});
