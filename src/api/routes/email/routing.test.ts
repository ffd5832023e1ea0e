import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Caller, Permission } from "../../../accounts/index.ts";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { mailMigrations } from "../../../mail/index.ts";
import { createEmailRouting } from "../../../mail/routing/index.ts";
import { createLocalEvents, createSecrets, migrate, openSqlite } from "../../../store/index.ts";
import type { Script } from "../../../workers/index.ts";
import { createZones, zonesMigrations } from "../../../zones/index.ts";
import { almighty, startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { emailRoutingRoutes } from "./routing.ts";
import { createVerifyPage, VERIFY_PREFIX } from "./verify-page.ts";

const TAG = "e".repeat(32);

async function start(t: TestContext, caller: Caller = almighty) {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-routing-"));
  const db = openSqlite({ path: join(folder, "test.db") });
  await migrate(db, [...zonesMigrations, ...mailMigrations]);
  const events = createLocalEvents({ log: silentLog });
  const clock = createManualClock(Date.UTC(2026, 10, 20));
  const zones = createZones({ db, clock, ids: randomIds, events, nameServers: ["ns1.reelpost.example"] });
  const inbox = { id: TAG, account: TEST_ACCOUNT, name: "inbox", live: {} } as Script;
  const links: string[] = [];
  const routing = createEmailRouting({
    db,
    zones,
    events,
    clock,
    ids: randomIds,
    secrets: createSecrets({ keys: [randomBytes(32)] }),
    scripts: {
      get: async (_account, name) => (name === "inbox" ? inbox : undefined),
      byId: async (_account, id) => (id === TAG ? inbox : undefined),
    },
    addresses: { link: (token) => `${VERIFY_PREFIX}${token}` },
    hosts: {
      mx: [
        { host: "mx1.reelpost.example", priority: 1 },
        { host: "mx2.reelpost.example", priority: 2 },
        { host: "mx3.reelpost.example", priority: 3 },
      ],
      spfInclude: "_spf.reelpost.example",
      dkimSelector: "reelpost",
    },
  });
  routing.addresses.onVerification(async (_address, link) => void links.push(link));
  const { call } = await startApi(t, {
    routes: emailRoutingRoutes({ zones, routing }),
    caller,
    gate: { zoneAccount: zones.zoneAccount },
  });
  t.after(async () => {
    routing.close();
    zones.close();
    await events.close();
    await db.close();
    rmSync(folder, { recursive: true });
  });
  const { id } = await zones.create({ account: TEST_ACCOUNT, name: "example.com" });
  return {
    call,
    zone: id,
    base: `/zones/${id}/email/routing`,
    account: `/accounts/${TEST_ACCOUNT}/email/routing`,
    routing,
    zones,
    links,
    clock,
  };
}

const only = (...permissions: Permission[]): Caller => ({
  ...almighty,
  allows: (permission) => permissions.includes(permission),
});
const refused = ({ status, body }: { status: number; body: { errors: { code: number; message: string }[] } }) => [
  status,
  body.errors[0]?.code,
  body.errors[0]?.message,
];
const literal = (value: string) => [{ type: "literal", field: "to", value }];

test("settings: read, changed, enabled and disabled with every HTTP method", async (t) => {
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
    "enabled has no effect, and what is left out stays",
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
  const asked = (await call("get", `${base}/dns`, { query: { subdomain: "example.com" } })).body.result;
  assert.deepEqual(
    [asked.record, asked.errors.map(({ code }: { code: string }) => code)],
    [needed, ["mx.missing", "mx.missing", "mx.missing", "dkim.missing", "spf.missing"]],
  );
  assert.deepEqual(asked.errors[0], { code: "mx.missing", missing: needed[0] });
  await zones.records.create(await zones.get(zone), {
    type: "MX",
    name: "@",
    content: "mail.example.net",
    priority: 5,
  });
  assert.deepEqual(refused(await call("post", `${base}/enable`, { body: {} })), [
    409,
    2911,
    "example.com has MX records of another mail service: 5 mail.example.net",
  ]);
  assert.deepEqual(refused(await call("post", `${base}/dns`, { body: { name: "example.org" } })), [
    400,
    2912,
    "example.org is not in the zone example.com",
  ]);
});

test("rules: created, listed, replaced and deleted as wrangler and the SDK do", async (t) => {
  const { call, base, account, zone } = await start(t);
  const made = (
    await call("post", `${base}/rules`, {
      body: {
        actions: [{ type: "worker", value: ["inbox"] }],
        matchers: literal("in@example.com"),
        name: "to the worker",
        enabled: true,
        priority: 3,
      },
    })
  ).body.result;
  assert.deepEqual(made, {
    id: made.id,
    tag: made.id,
    name: "to the worker",
    enabled: true,
    priority: 3,
    matchers: literal("in@example.com"),
    actions: [{ type: "worker", value: ["inbox"] }],
    source: "api",
  });
  assert.deepEqual((await call("get", `${base}/rules/${made.id}`)).body.result, made);
  const dropped = (
    await call("put", `${base}/rules/${made.id}`, {
      body: {
        actions: [{ type: "drop" }],
        matchers: literal("in@example.com"),
        source: "wrangler",
        owner_worker_tag: TAG,
      },
    })
  ).body.result;
  assert.deepEqual(
    [dropped.name, dropped.priority, dropped.actions, dropped.source, "owner_worker_tag" in dropped],
    ["", 0, [{ type: "drop" }], "wrangler", false],
  );

  const list = (await call("get", `${base}/rules`, { query: { order: "created", direction: "asc", page: 1 } })).body;
  assert.deepEqual(
    [
      list.result.map(({ matchers }: { matchers: { type: string }[] }) => matchers[0]!.type),
      list.result_info.total_count,
    ],
    [["literal", "all"], 2],
  );
  assert.deepEqual(
    (await call("get", `${base}/rules`, { query: { enabled: "false", per_page: 5 } })).body.result.length,
    1,
  );
  assert.deepEqual((await call("get", `${base}/rules`, { query: { page: 9 } })).body.result, []);
  const all = (await call("get", `${account}/rules`)).body;
  assert.deepEqual(
    [all.result[0].zone, all.result[0].id, all.result_info.total_count],
    [{ tag: zone, name: "example.com" }, made.id, 1],
  );
  assert.deepEqual((await call("delete", `${base}/rules/${made.id}`)).body.result, dropped);
  assert.deepEqual(refused(await call("get", `${base}/rules/${made.id}`)), [404, 2901, "Routing rule not found"]);
});

test("rules: returns the codes that clients expect", async (t) => {
  const { call, base, account } = await start(t);
  const catchAll = (await call("get", `${base}/rules/catch_all`)).body.result;
  assert.deepEqual(
    [catchAll.enabled, catchAll.actions, catchAll.matchers, catchAll.name, catchAll.source],
    [false, [{ type: "drop" }], [{ type: "all" }], "", "api"],
  );
  assert.deepEqual(refused(await call("get", `${base}/rules/${catchAll.id}`)), [409, 2020, "Invalid rule operation"]);
  assert.deepEqual(refused(await call("delete", `${base}/rules/${catchAll.id}`)), [
    409,
    2020,
    "Invalid rule operation",
  ]);
  const forward = (value: string[]) => ({ actions: [{ type: "forward", value }], matchers: literal("a@example.com") });
  assert.deepEqual(refused(await call("post", `${base}/rules`, { body: forward([]) })), [
    422,
    2007,
    "Invalid Input. Forward actions must contain exactly one destination address.",
  ]);
  assert.deepEqual(refused(await call("post", `${base}/rules`, { body: forward(["stranger@example.net"]) })), [
    400,
    2054,
    "Destination address is not verified",
  ]);
  await call("post", `${account}/addresses`, { body: { email: "me@example.net" } });
  const waiting = (await call("post", `${base}/rules`, { body: { ...forward(["me@example.net"]), enabled: true } }))
    .body;
  assert.deepEqual([waiting.result.enabled, waiting.messages[0].code], [false, 2054]);

  const literalStar = (
    await call("post", `${base}/rules`, {
      body: { matchers: [{ type: "literal", field: "to", value: "glob-*@example.com" }], actions: [{ type: "drop" }] },
    })
  ).body;
  assert.deepEqual(
    [literalStar.success, literalStar.messages[0].code],
    [true, 2917],
    "creates a literal rule with * and returns a warning",
  );
  await call("delete", `${base}/rules/${literalStar.result.id}`);

  const worker = [{ type: "worker", value: ["inbox"] }];
  const put = (
    await call("put", `${base}/rules/catch_all`, {
      body: { matchers: [{ type: "all" }], actions: worker, enabled: true, source: "wrangler", owner_worker_tag: TAG },
    })
  ).body.result;
  assert.deepEqual([put.id, put.enabled, put.actions], [catchAll.id, true, worker]);
  const reset = (
    await call("put", `${base}/rules/catch_all`, {
      body: { matchers: [{ type: "all" }], actions: [{ type: "drop" }], enabled: false, name: "", source: "api" },
    })
  ).body.result;
  assert.deepEqual(reset, catchAll);
  assert.deepEqual(refused(await call("post", `${base}/rules`, { body: "{" })).slice(0, 2), [400, 6007]);
});

test("rules: plans the changes for a configuration file", async (t) => {
  const { call, base, account, zone } = await start(t);
  const actions = [{ type: "worker", value: ["inbox"] }];
  const body = {
    owner_worker_tag: TAG,
    rules: [{ matchers: literal("Hi@example.com"), actions }],
    catch_all_rules: [{ target: "*@example.com", rule: { matchers: [{ type: "all" }], actions } }],
  };
  assert.deepEqual(refused(await call("post", `${account}/rules/plan`, { body })), [
    400,
    2062,
    "Unknown Email Routing domain: example.com",
  ]);
  await call("post", `${base}/enable`, { body: {} });
  assert.deepEqual((await call("post", `${account}/rules/plan`, { body })).body.result, {
    zones: [
      {
        zone_id: zone,
        zone_name: "example.com",
        changes: [
          { type: "added", target: "hi@example.com" },
          { type: "added", target: "*@example.com" },
        ],
      },
    ],
  });
  const owned = { enabled: true, source: "wrangler", owner_worker_tag: TAG };
  const made = (
    await call("post", `${base}/rules`, { body: { matchers: literal("Hi@example.com"), actions, ...owned } })
  ).body.result;
  await call("put", `${base}/rules/catch_all`, { body: { matchers: [{ type: "all" }], actions, ...owned } });
  assert.deepEqual((await call("post", `${account}/rules/plan`, { body })).body.result, { zones: [] });
  const { result } = (await call("post", `${account}/rules/plan`, { body: { ...body, rules: [] } })).body;
  assert.deepEqual(result.zones[0].changes, [
    {
      type: "deleted",
      target: "hi@example.com",
      remote: {
        id: made.id,
        matchers: literal("Hi@example.com"),
        actions,
        enabled: true,
        source: "wrangler",
        owner_worker_name: "inbox",
      },
    },
  ]);
  assert.deepEqual(
    refused(await call("post", `${account}/rules/plan`, { body: { ...body, owner_worker_tag: "f".repeat(32) } })),
    [422, 2016, `Worker not found: ${"f".repeat(32)}`],
  );
});

test("a zone that a policy denies cannot be read through the account either", async (t) => {
  const denied: string[] = [];
  const {
    call,
    zone: seen,
    base,
    account,
    zones,
  } = await start(t, {
    ...almighty,
    deniedZones: denied,
    allows: (_, on) => !("zone" in on && denied.includes(on.zone)),
  });
  const { id: hidden } = await zones.create({ account: TEST_ACCOUNT, name: "hidden.example" });
  const actions = [{ type: "worker", value: ["inbox"] }];
  const owned = { actions, enabled: true, source: "wrangler", owner_worker_tag: TAG };
  for (const [zone, name] of [
    [seen, "example.com"],
    [hidden, "hidden.example"],
  ] as const) {
    await call("post", `/zones/${zone}/email/routing/enable`, { body: {} });
    await call("post", `/zones/${zone}/email/routing/rules`, { body: { matchers: literal(`hi@${name}`), ...owned } });
  }
  const planned = async (...addresses: string[]) =>
    call("post", `${account}/rules/plan`, {
      body: { owner_worker_tag: TAG, rules: addresses.map((address) => ({ matchers: literal(address), actions })) },
    });
  const targets = async () =>
    (await planned()).body.result.zones.flatMap(({ changes }: { changes: { target: string }[] }) =>
      changes.map(({ target }) => target),
    );
  assert.deepEqual(
    [
      (await call("get", `${account}/rules`)).body.result_info.total_count,
      (await call("get", `${account}/zones`)).body.result_info.total_count,
      await targets(),
    ],
    [2, 2, ["hi@example.com", "hi@hidden.example"]],
  );

  denied.push(hidden);
  assert.deepEqual(
    [(await call("get", `/zones/${hidden}/email/routing/rules`)).status, (await call("get", `${base}/rules`)).status],
    [403, 200],
  );
  const rules = (await call("get", `${account}/rules`, { query: { per_page: 5 } })).body;
  assert.deepEqual(
    [rules.result.map((rule: { zone: { tag: string } }) => rule.zone.tag), rules.result_info.total_count],
    [[seen], 1],
  );
  const settings = (await call("get", `${account}/zones`)).body;
  assert.deepEqual(
    [settings.result.map(({ id }: { id: string }) => id), settings.result_info.total_count],
    [[seen], 1],
  );
  assert.deepEqual(await targets(), ["hi@example.com"]);
  for (const address of ["hi@hidden.example", "other@hidden.example"])
    assert.deepEqual(refused(await planned(address)), [400, 2062, "Unknown Email Routing domain: hidden.example"]);
});

test("connects a worker in one call, if the token has permission for both", async (t) => {
  const { call, base, routing } = await start(t);
  assert.deepEqual(refused(await call("put", `${base}/settings`, { body: { enabled: true, worker: "absent" } })), [
    422,
    2016,
    "Worker not found: absent",
  ]);
  assert.deepEqual(
    (await call("put", `${base}/settings`, { body: { enabled: true, worker: "inbox" } })).body.result.status,
    "ready",
  );
  assert.equal((await routing.resolve("any@example.com")).kind, "worker");
  assert.equal((await call("put", `${base}/settings`, { body: { enabled: false } })).body.result.enabled, false);
  assert.equal((await routing.resolve("any@example.com")).kind, "none");
  const limited = await start(t, only("Zone Settings Write"));
  assert.equal(
    (await limited.call("put", `${limited.base}/settings`, { body: { enabled: true, worker: "inbox" } })).status,
    403,
  );
  assert.equal((await limited.call("put", `${limited.base}/settings`, { body: { enabled: true } })).status, 200);
});

test("destination addresses: created, listed, verified with permission, deleted", async (t) => {
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
  assert.deepEqual(refused(await call("get", `${account}/addresses/${made.id}`)), [
    404,
    2903,
    "Destination address not found",
  ]);
  assert.deepEqual(
    refused(await call("post", `${account}/addresses`, { body: { email: "no address" } })).slice(0, 2),
    [422, 2905],
  );

  const limited = await start(t, only("Email Routing Addresses Write"));
  const { id } = (await limited.call("post", `${limited.account}/addresses`, { body: { email: "me@example.net" } }))
    .body.result;
  assert.deepEqual(
    refused(await limited.call("patch", `${limited.account}/addresses/${id}`, { body: { status: "verified" } })).slice(
      0,
      2,
    ),
    [403, 2907],
  );
  assert.equal(
    (await limited.call("patch", `${limited.account}/addresses/${id}`, { body: { status: "unverified" } })).status,
    200,
  );
  assert.equal((await limited.call("get", `${limited.base}/rules`)).status, 403);
});

test("the verification page shows the address and verifies it when the button is pressed", async (t) => {
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
  assert.equal(await verified(), false, "a program that follows links has agreed to nothing");
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

test("DKIM keys are listed and rotated", async (t) => {
  const { call, base } = await start(t);
  assert.equal(
    (await call("post", `${base}/dkim/rotate`)).status,
    404,
    "of a name that is not routed there is nothing to replace",
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
