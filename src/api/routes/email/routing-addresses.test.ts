import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createVerifyPage, VERIFY_PREFIX } from "./verify-page.ts";
import { start, routingCallerWith, routingErrorOf } from "./routing.testing.ts";

test("destination addresses are created, listed, verified by an authorized token, and deleted", async (t) => {
  const { call, account, clock, links } = await start(t);
  const made = (await call("post", `${account}/addresses`, { body: { email: "me@example.net" } })).body.result;
  assert.deepEqual(made, {
    id: made.id,
    tag: made.id,
    email: "me@example.net",
    verified: null,
    created: "2026-11-20T00:00:00.000Z",
    modified: "2026-11-20T00:00:00.000Z",
  });
  assert.deepEqual(
    (await call("post", `${account}/addresses`, { body: { email: "ME@example.net" } })).body.result,
    made,
  );
  const soon = await call("post", `${account}/addresses/${made.id}/resend`);
  assert.deepEqual([soon.status, soon.headers.get("retry-after")], [429, "60"]);
  clock.advance(60_000);
  assert.equal((await call("post", `${account}/addresses/${made.id}/resend`)).status, 200);
  assert.equal(links.length, 2);
  assert.deepEqual(
    (await call("get", `${account}/addresses`, { query: { order: "created", direction: "asc", page: 1 } })).body.result,
    [made],
  );
  assert.deepEqual((await call("get", `${account}/addresses`, { query: { verified: "true" } })).body.result, []);
  assert.equal(
    (await call("patch", `${account}/addresses/${made.id}`, { body: { status: "verified" } })).body.result.verified,
    "2026-11-20T00:01:00.000Z",
  );
  assert.deepEqual((await call("get", `${account}/addresses`, { query: { page: 2, per_page: 5 } })).body, {
    success: true,
    errors: [],
    messages: [],
    result: [],
    result_info: { page: 2, per_page: 5, count: 0, total_count: 1, total_pages: 1 },
  });
  assert.equal((await call("delete", `${account}/addresses/${made.id}`)).body.result.id, made.id);
  assert.deepEqual(routingErrorOf(await call("get", `${account}/addresses/${made.id}`)), [
    404,
    2903,
    "Destination address not found",
  ]);
  assert.deepEqual(
    routingErrorOf(await call("post", `${account}/addresses`, { body: { email: "no address" } })).slice(0, 2),
    [422, 2905],
  );

  const limited = await start(t, routingCallerWith("Email Routing Addresses Write"));
  const { id } = (await limited.call("post", `${limited.account}/addresses`, { body: { email: "me@example.net" } }))
    .body.result;
  assert.deepEqual(
    routingErrorOf(
      await limited.call("patch", `${limited.account}/addresses/${id}`, { body: { status: "verified" } }),
    ).slice(0, 2),
    [403, 2907],
  );
  assert.equal(
    (await limited.call("patch", `${limited.account}/addresses/${id}`, { body: { status: "unverified" } })).status,
    200,
  );
  assert.equal((await limited.call("get", `${limited.base}/rules`)).status, 403);
});

test("the verification page shows the address, and its button verifies the address", async (t) => {
  const { call, account, links, routing } = await start(t);
  const show = createVerifyPage(routing);
  const server = createServer((request, response) => void show(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const visit = async (link: string, method = "GET") => {
    const response = await fetch(`${origin}${link}`, { method });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const { id } = (await call("post", `${account}/addresses`, { body: { email: "o'neil&co@example.net" } })).body.result;
  const verified = async () => (await call("get", `${account}/addresses/${id}`)).body.result.verified !== null;
  const page = await visit(links[0]!);
  assert.deepEqual(
    [page.status, page.text.includes("o&#39;neil&#38;co@example.net"), page.text.includes('<form method="post">')],
    [200, true, true],
  );
  assert.deepEqual(
    [page.headers.get("cache-control"), page.headers.get("referrer-policy")],
    ["no-store", "no-referrer"],
  );
  assert.equal(await verified(), false, "following the link does not verify the address");
  assert.equal((await visit(links[0]!, "POST")).status, 200);
  assert.equal(await verified(), true);
  assert.match((await visit(links[0]!)).text, /is verified/);
  assert.deepEqual(
    [
      (await visit(`${VERIFY_PREFIX}nothing`)).status,
      (await visit(VERIFY_PREFIX, "POST")).status,
      (await visit(links[0]!, "PUT")).status,
    ],
    [404, 404, 405],
  );
});
