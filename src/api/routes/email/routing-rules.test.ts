import assert from "node:assert/strict";
import { test } from "node:test";
import { unrestrictedCaller, TEST_ACCOUNT } from "../../api.testing.ts";
import { TAG, start, routingCallerWith, routingErrorOf } from "./routing.testing.ts";

const literal = (value: string) => [{ type: "literal", field: "to", value }];

test("rules are created, listed, replaced and deleted with the requests of wrangler and the SDK", async (t) => {
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
    [undefined, 0, [{ type: "drop" }], "wrangler", false],
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
  assert.deepEqual(routingErrorOf(await call("get", `${base}/rules/${made.id}`)), [
    404,
    2901,
    "Routing rule not found",
  ]);
});

test("reports invalid rules with the codes that clients expect", async (t) => {
  const { call, base, account } = await start(t);
  const catchAll = (await call("get", `${base}/rules/catch_all`)).body.result;
  assert.deepEqual(
    [catchAll.enabled, catchAll.actions, catchAll.matchers, catchAll.name, catchAll.source],
    [false, [{ type: "drop" }], [{ type: "all" }], undefined, "api"],
  );
  assert.deepEqual(routingErrorOf(await call("get", `${base}/rules/${catchAll.id}`)), [
    409,
    2020,
    "Invalid rule operation",
  ]);
  assert.deepEqual(routingErrorOf(await call("delete", `${base}/rules/${catchAll.id}`)), [
    409,
    2020,
    "Invalid rule operation",
  ]);
  const forward = (value: string[]) => ({ actions: [{ type: "forward", value }], matchers: literal("a@example.com") });
  assert.deepEqual(routingErrorOf(await call("post", `${base}/rules`, { body: forward([]) })), [
    422,
    2007,
    "Invalid Input. Forward actions must contain exactly one destination address.",
  ]);
  assert.deepEqual(routingErrorOf(await call("post", `${base}/rules`, { body: forward(["stranger@example.net"]) })), [
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
  assert.equal("name" in reset, false, "a rule without a name has no field for it");
  assert.deepEqual(routingErrorOf(await call("post", `${base}/rules`, { body: "{" })).slice(0, 2), [400, 6007]);
});

test("plans the rule changes for a configuration file", async (t) => {
  const { call, base, account, zone } = await start(t);
  const actions = [{ type: "worker", value: ["inbox"] }];
  const body = {
    owner_worker_tag: TAG,
    rules: [{ matchers: literal("Hi@example.com"), actions }],
    catch_all_rules: [{ target: "*@example.com", rule: { matchers: [{ type: "all" }], actions } }],
  };
  assert.deepEqual(routingErrorOf(await call("post", `${account}/rules/plan`, { body })), [
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
    routingErrorOf(
      await call("post", `${account}/rules/plan`, { body: { ...body, owner_worker_tag: "f".repeat(32) } }),
    ),
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
    ...unrestrictedCaller,
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
    assert.deepEqual(routingErrorOf(await planned(address)), [
      400,
      2062,
      "Unknown Email Routing domain: hidden.example",
    ]);
});

test("connects a worker in one call, if the token has permission for both", async (t) => {
  const { call, base, routing } = await start(t);
  assert.deepEqual(
    routingErrorOf(await call("put", `${base}/settings`, { body: { enabled: true, worker: "absent" } })),
    [422, 2016, "Worker not found: absent"],
  );
  assert.deepEqual(
    (await call("put", `${base}/settings`, { body: { enabled: true, worker: "inbox" } })).body.result.status,
    "ready",
  );
  assert.equal((await routing.resolve("any@example.com")).kind, "worker");
  assert.equal((await call("put", `${base}/settings`, { body: { enabled: false } })).body.result.enabled, false);
  assert.equal((await routing.resolve("any@example.com")).kind, "none");
  const limited = await start(t, routingCallerWith("Zone Settings Write"));
  assert.equal(
    (await limited.call("put", `${limited.base}/settings`, { body: { enabled: true, worker: "inbox" } })).status,
    403,
  );
  assert.equal((await limited.call("put", `${limited.base}/settings`, { body: { enabled: true } })).status, 200);
});

test("reorders rules in one request", async (t) => {
  const { call, base } = await start(t);
  const create = async (to: string) =>
    (
      await call("post", `${base}/rules`, {
        body: { actions: [{ type: "drop" }], matchers: literal(to), enabled: true },
      })
    ).body.result.id as string;
  const ids = [await create("a@example.com"), await create("b@example.com"), await create("c@example.com")];
  const reversed = ids.toReversed();
  const { body } = await call("put", `${base}/order`, { body: { rules: reversed } });
  assert.deepEqual(
    body.result.map(({ id, priority }: { id: string; priority: number }) => [id, priority]),
    reversed.map((id, priority) => [id, priority]),
  );
  const listed = (await call("get", `${base}/rules`)).body.result.map(({ id }: { id: string }) => id);
  assert.deepEqual(listed.slice(0, 3), reversed);
  assert.equal((await call("put", `${base}/order`, { body: { rules: [] } })).status, 400);
});

test("explains which rule matches an address", async (t) => {
  const { call, base, zones, routing } = await start(t);
  await call("post", `${base}/enable`, { body: {} });
  await call("post", `${base}/rules`, {
    body: {
      name: "Inbox",
      actions: [{ type: "worker", value: ["inbox"] }],
      matchers: literal("in@example.com"),
      enabled: true,
    },
  });
  const match = async (address: string) => (await call("get", `${base}/match`, { query: { address } })).body.result;
  const { rule, ...found } = await match("IN@Example.com");
  assert.deepEqual(
    [found, rule.name],
    [
      {
        address: "IN@Example.com",
        action: "worker",
        value: ["inbox"],
        why: "literal",
        explanation: 'The rule "Inbox" matches exactly this address.',
      },
      "Inbox",
    ],
  );
  assert.deepEqual(
    [(await match("other@example.com")).why, (await match("other@elsewhere.example")).why, (await match("none")).why],
    ["no rule", "not our domain", "not an address"],
  );
  await call("put", `${base}/rules/catch_all`, {
    body: { matchers: [{ type: "all" }], actions: [{ type: "drop" }], enabled: true },
  });
  const caught = await match("other@example.com");
  assert.deepEqual([caught.action, caught.why, caught.value], ["drop", "catch-all", []]);
  const { id } = await zones.create({ account: TEST_ACCOUNT, name: "example.net" });
  await routing.dns.enable((await zones.find(id))!);
  assert.equal((await call("get", `${base}/match`, { query: { address: "a@example.net" } })).status, 400);
});
