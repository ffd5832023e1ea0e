import assert from "node:assert/strict";
import { test } from "node:test";
import { start, routingErrorOf } from "./routing.testing.ts";

test("settings are read, changed, enabled and disabled with every supported HTTP method", async (t) => {
  const { call, base, zone, account } = await start(t);
  const { result } = (await call("get", base)).body;
  assert.deepEqual(result, {
    id: zone,
    tag: zone,
    name: "example.com",
    enabled: false,
    status: "unconfigured",
    skip_wizard: true,
    support_subaddress: false,
    created: "2026-11-20T00:00:00.000Z",
    modified: "2026-11-20T00:00:00.000Z",
    subdomains: [],
  });
  assert.equal(
    (await call("patch", base, { body: { support_subaddress: true, enabled: true } })).body.result.support_subaddress,
    true,
  );
  const put = (await call("put", base, { body: { skip_wizard: false } })).body.result;
  assert.deepEqual(
    [put.support_subaddress, put.skip_wizard, put.enabled],
    [true, false, false],
    "`enabled` is ignored, and omitted fields are unchanged",
  );

  const states = [];
  for (const [method, path, body] of [
    ["post", "dns", undefined],
    ["patch", "dns", {}],
    ["delete", "dns", undefined],
    ["post", "enable", {}],
    ["post", "unlock", "null"],
    ["post", "disable", {}],
    ["post", "dns", { name: "in.example.com" }],
  ] as const) {
    const answered = await call(method, `${base}/${path}`, body === undefined ? {} : { body });
    states.push([answered.status, answered.body.result.enabled, answered.body.result.status]);
  }
  assert.deepEqual(states, [
    [200, true, "ready"],
    [200, true, "unlocked"],
    [200, false, "unconfigured"],
    [200, true, "ready"],
    [200, true, "unlocked"],
    [200, false, "unconfigured"],
    [200, false, "unconfigured"],
  ]);
  const [sub] = (await call("get", base)).body.result.subdomains;
  assert.deepEqual([sub.name, sub.enabled, sub.status, sub.id === sub.tag], ["in.example.com", true, "ready", true]);

  const list = (await call("get", `${account}/zones`, { query: { page: 1 } })).body;
  assert.deepEqual(
    [list.result.map(({ id, name }: { id: string; name: string }) => [id, name]), list.result_info],
    [[[zone, "example.com"]], { page: 1, per_page: 20, count: 1, total_count: 1, total_pages: 1 }],
  );
  assert.deepEqual((await call("get", `${account}/zones`, { query: { page: 2 } })).body.result, []);
  const named = async (name: string) => (await call("get", `${account}/zones`, { query: { name } })).body.result.length;
  assert.deepEqual(
    await Promise.all(["contains:MPLE", "contains:other", "example.com"].map(named)),
    [1, 0, 1],
    "the list is filtered by name",
  );
});

test("lists required records and problems with existing ones", async (t) => {
  const { call, base, zones, zone } = await start(t);
  const needed = (await call("get", `${base}/dns`)).body.result as {
    type: string;
    name: string;
    content: string;
    priority?: number;
    ttl: number;
  }[];
  assert.deepEqual(needed.slice(0, 4), [
    ...[1, 2, 3].map((priority) => ({
      type: "MX",
      name: "example.com",
      content: `mx${priority}.reelpost.example`,
      priority,
      ttl: 1,
    })),
    { type: "TXT", name: "example.com", content: "v=spf1 include:_spf.reelpost.example ~all", ttl: 1 },
  ]);
  assert.deepEqual(
    [needed[4]!.name, needed[4]!.content.slice(0, 30)],
    ["reelpost._domainkey.example.com", "v=DKIM1; h=sha256; k=rsa; p=MI"],
  );
  const requested = (await call("get", `${base}/dns`, { query: { subdomain: "example.com" } })).body.result;
  assert.deepEqual(
    [requested.record, requested.errors.map(({ code }: { code: string }) => code)],
    [needed, ["mx.missing", "mx.missing", "mx.missing", "dkim.missing", "spf.missing"]],
  );
  assert.deepEqual(requested.errors[0], { code: "mx.missing", missing: needed[0] });
  await zones.records.create(await zones.get(zone), {
    type: "MX",
    name: "@",
    content: "mail.example.net",
    priority: 5,
  });
  assert.deepEqual(routingErrorOf(await call("post", `${base}/enable`, { body: {} })), [
    409,
    2911,
    "example.com has MX records that point to another mail service: 5 mail.example.net",
  ]);
  assert.deepEqual(routingErrorOf(await call("post", `${base}/dns`, { body: { name: "example.org" } })), [
    400,
    2912,
    "example.org is not in the zone example.com",
  ]);
});

test("DKIM keys are listed and rotated", async (t) => {
  const { call, base } = await start(t);
  assert.equal(
    (await call("post", `${base}/dkim/rotate`)).status,
    404,
    "a name that is not routed has no keys to replace",
  );
  await call("post", `${base}/dns`, { body: {} });
  const states = async () =>
    (await call("get", `${base}/dkim`)).body.result.map(
      ({ selector, state }: { selector: string; state: string }) => `${selector} ${state}`,
    );
  assert.deepEqual(await states(), ["reelpost active"]);
  assert.equal((await call("post", `${base}/dkim/rotate`, { body: {} })).body.result.length, 2);
  assert.deepEqual(await states(), ["reelpost active", "reelpost-2 next"]);
});
