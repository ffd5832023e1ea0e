import assert from "node:assert/strict";
import { test } from "node:test";
import { CODE, formOf, metadataOf, startWorkersApi, TAIL_WORKER, WORKERS } from "./workers.testing.ts";

const SCRIPT = `${WORKERS}/scripts/hello`;
const BINDINGS = [
  { name: "T", type: "plain_text", text: "t" },
  { name: "S", type: "secret_text", text: "s" },
  { name: "M", type: "send_email", destination_address: "a@example.com" },
];

test("settings are changed with a form or JSON, and omitted ones are kept", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  await ok("put", SCRIPT, { body: formOf(metadataOf({ bindings: BINDINGS, limits: { cpu_ms: 40 }, tags: ["a"] })) });
  const before = await ok("get", `${SCRIPT}/settings`);
  assert.deepEqual(
    [before.limits, before.tags, before.observability, before.usage_model],
    [{ cpu_ms: 40 }, ["a"], undefined, "standard"],
  );

  // Inherited bindings are sent with only name and type, because clients cannot know secret values.
  const form = new FormData();
  form.set(
    "settings",
    JSON.stringify({
      bindings: [
        { name: "S", type: "secret_text" },
        { name: "M", type: "send_email" },
        { name: "N", type: "send_email" },
        { name: "T2", type: "plain_text", text: "x" },
      ],
    }),
  );
  const after = await ok("patch", `${SCRIPT}/settings`, { body: form });
  assert.deepEqual(after.bindings, [
    { name: "S", type: "secret_text" },
    BINDINGS[2],
    { name: "N", type: "send_email" },
    { name: "T2", type: "plain_text", text: "x" },
  ]);
  assert.deepEqual([after.limits, after.tags, after.compatibility_date], [{ cpu_ms: 40 }, ["a"], "2026-10-01"]);

  const json = await ok("patch", `${SCRIPT}/settings`, {
    body: {
      compatibility_flags: [],
      logpush: true,
      placement: { mode: "smart" },
      observability: { enabled: true, head_sampling_rate: 0.5, logs: { enabled: true } },
    },
  });
  assert.deepEqual(
    [json.compatibility_flags, json.logpush, json.placement, json.observability],
    [
      [],
      true,
      { mode: "smart" },
      { enabled: true, head_sampling_rate: 0.5, logs: { enabled: true, invocation_logs: true } },
    ],
  );
  assert.equal(json.bindings.length, 4);
  assert.equal((await ok("get", `${SCRIPT}/versions`)).items.length, 3);

  assert.deepEqual(
    (await refused("patch", `${SCRIPT}/settings`, { body: new URLSearchParams("a=b").toString() })).slice(0, 2),
    [400, 10021],
  );
  const empty = new FormData();
  empty.set("other", "{}");
  assert.match(
    (await refused("patch", `${SCRIPT}/settings`, { body: empty })).join(" "),
    /^400 10021 .*no part settings/,
  );
  assert.match(
    (await refused("patch", `${SCRIPT}/settings`, { body: { bindings: [{ name: "X", type: "plain_text" }] } })).join(
      " ",
    ),
    /must have a valid `text`/,
  );
  assert.equal((await ok("get", `${SCRIPT}/versions`)).items.length, 3);
});

test("script settings apply to all versions, and changing them creates no version", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  await ok("put", SCRIPT, { body: formOf(metadataOf()) });
  await ok("put", `${WORKERS}/scripts/listener`, { body: formOf(metadataOf(), TAIL_WORKER) });
  const patched = await ok("patch", `${SCRIPT}/script-settings`, {
    body: { tags: ["x"], tail_consumers: [{ service: "listener" }], observability: { enabled: true } },
  });
  assert.deepEqual(patched, {
    logpush: false,
    tags: ["x"],
    tail_consumers: [{ service: "listener" }],
    observability: { enabled: true },
  });
  await ok("put", SCRIPT, { body: formOf(metadataOf()) });
  assert.deepEqual(await ok("get", `${SCRIPT}/script-settings`), patched);
  const { id } = await ok("post", `${SCRIPT}/versions`, {
    body: formOf(metadataOf({ tags: ["of a version that is not live"], logpush: true })),
  });
  assert.deepEqual(await ok("get", `${SCRIPT}/script-settings`), patched);
  await ok("post", `${SCRIPT}/deployments`, { body: { versions: [{ version_id: id, percentage: 100 }] } });
  assert.equal((await ok("get", `${SCRIPT}/versions`)).items.length, 3);
  assert.deepEqual(
    (await refused("patch", `${SCRIPT}/script-settings`, { body: { tags: "x" } })).slice(0, 2),
    [400, 10021],
  );

  const environment = `${WORKERS}/services/hello/environments`;
  assert.deepEqual((await ok("patch", `${environment}/production/settings`, { body: { tags: [] } })).tags, []);
  assert.deepEqual((await refused("get", `${environment}/staging/settings`)).slice(0, 2), [404, 10090]);
  assert.deepEqual(await ok("get", `${environment}/production/secrets`), []);
});

test("returns the usage model and account settings", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  await ok("put", SCRIPT, { body: formOf(metadataOf()) });
  assert.deepEqual(await ok("get", `${SCRIPT}/usage-model`), { usage_model: "standard", user_limits: null });
  assert.deepEqual(
    await ok("put", `${SCRIPT}/usage-model`, { body: { usage_model: "unbound", user_limits: { cpu_ms: 50 } } }),
    { usage_model: "unbound", user_limits: { cpu_ms: 50 } },
  );
  assert.deepEqual(await ok("put", `${WORKERS}/account-settings`, { body: { green_compute: false } }), {
    default_usage_model: "standard",
    green_compute: false,
  });
  assert.deepEqual(await ok("get", `${WORKERS}/account-settings`), {
    default_usage_model: "standard",
    green_compute: false,
  });
  assert.deepEqual(
    (await refused("put", `${WORKERS}/account-settings`, { body: { default_usage_model: "unbound" } })).slice(0, 2),
    [400, 10021],
  );
});

test("the subdomains of the account and of a script are read and changed", async (t) => {
  const { call, ok, refused } = await startWorkersApi(t);
  assert.deepEqual(await ok("put", `${WORKERS}/subdomain`, { body: { subdomain: "initech" } }), {
    subdomain: "initech",
  });
  assert.deepEqual(await ok("get", `${WORKERS}/subdomain`), { subdomain: "initech" });
  assert.deepEqual(
    (await refused("put", `${WORKERS}/subdomain`, { body: { subdomain: "-" } })).slice(0, 2),
    [400, 10031],
  );
  const gone = await call("delete", `${WORKERS}/subdomain`);
  assert.deepEqual([gone.status, gone.body], [204, undefined]);
  assert.deepEqual(await ok("get", `${WORKERS}/subdomain`), { subdomain: "acme" });
  await ok("put", SCRIPT, { body: formOf(metadataOf()) });
  assert.deepEqual(await ok("post", `${SCRIPT}/subdomain`, { body: { enabled: true, previews_enabled: true } }), {
    enabled: true,
    previews_enabled: true,
  });
  assert.deepEqual(await ok("get", `${SCRIPT}/subdomain`), { enabled: true, previews_enabled: true });
  assert.deepEqual(await ok("delete", `${SCRIPT}/subdomain`), { enabled: false, previews_enabled: false });
});

test("schedules are replaced as a whole", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  await ok("put", SCRIPT, { body: formOf(metadataOf()) });
  assert.equal(
    (await ok("put", `${SCRIPT}/schedules`, { body: [{ cron: "0 0 * * *" }, { cron: "*/5 * * * *" }] })).schedules
      .length,
    2,
  );
  assert.deepEqual(
    (await refused("put", `${SCRIPT}/schedules`, { body: [{ cron: "whenever" }] })).slice(0, 2),
    [400, 10100],
  );
  assert.equal((await ok("get", `${SCRIPT}/schedules`)).schedules.length, 2);
  assert.deepEqual(await ok("put", `${SCRIPT}/schedules`, { body: [] }), { schedules: [] });
});

test("reads and replaces only the code, and keeps everything else", async (t) => {
  const { ok, call } = await startWorkersApi(t);
  await ok("put", SCRIPT, { body: formOf(metadataOf({ bindings: BINDINGS })) });
  const changed = formOf(
    { main_module: "new.js" },
    { "new.js": [`export default { async scheduled() {} };`, "application/javascript+module"] },
  );
  assert.deepEqual((await ok("put", `${SCRIPT}/content`, { body: changed })).handlers, ["scheduled"]);
  const settings = await ok("get", `${SCRIPT}/settings`);
  assert.deepEqual(
    settings.bindings.map(({ name }: { name: string }) => name),
    ["T", "S", "M"],
  );
  assert.equal((await call("get", `${SCRIPT}/content/v2`)).headers.get("cf-entrypoint"), "new.js");
  const { items } = await ok("get", `${SCRIPT}/versions`);
  assert.equal(
    (await call("get", `${SCRIPT}/content/v2`, { query: { version: items[1].id } })).headers.get("cf-entrypoint"),
    "index.js",
  );

  const named = formOf(undefined, { "named.js": [CODE, "application/javascript+module"] });
  await ok("put", `${WORKERS}/services/hello/environments/production/content`, {
    body: named,
    headers: { "cf-worker-main-module-part": "named.js" },
  });
  assert.equal(
    (await call("get", `${WORKERS}/services/hello/environments/production/content`)).headers.get("cf-entrypoint"),
    "named.js",
  );
});

test("accepts a service-worker script as the whole body and returns it unchanged", async (t) => {
  const { ok, call } = await startWorkersApi(t);
  const source = `addEventListener("fetch", (event) => event.respondWith(new Response("é")));\n`;
  const uploaded = await ok("put", SCRIPT, { body: source, headers: { "content-type": "application/javascript" } });
  assert.deepEqual([uploaded.has_modules, uploaded.handlers], [false, ["fetch"]]);
  const { text, headers } = await call("get", SCRIPT);
  assert.deepEqual([text, headers.get("content-type")], [source, "application/javascript"]);
  assert.equal(headers.get("etag"), `"${uploaded.etag}"`);
  const form = formOf({ body_part: "script" }, {});
  form.set("script", source);
  assert.equal((await ok("put", SCRIPT, { body: form })).entry_point, "script");
});

test("a tail consumer must be another worker with a tail handler", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  const tail_consumers = [{ service: "listener" }];
  const upload = () => refused("put", SCRIPT, { body: formOf(metadataOf({ tail_consumers })) });
  assert.match((await upload()).join(" "), /^400 10021 The tail consumer 'listener' does not exist/);
  assert.deepEqual(await ok("get", `${WORKERS}/scripts`), []);
  await ok("put", `${WORKERS}/scripts/listener`, { body: formOf(metadataOf()) });
  assert.match((await upload()).join(" "), /^400 10021 The tail consumer 'listener' has no tail\(\) handler/);
  await ok("put", `${WORKERS}/scripts/listener`, { body: formOf(metadataOf(), TAIL_WORKER) });
  const { tail_consumers: shown } = await ok("put", SCRIPT, { body: formOf(metadataOf({ tail_consumers })) });
  assert.deepEqual(shown, tail_consumers);
  for (const [sent, reason] of [
    [[{ service: "hello" }], /cannot be its own tail consumer/],
    [[{ service: "listener", environment: "staging" }], /environment/],
    [Array.from({ length: 11 }, () => ({ service: "listener" })), /tail_consumers/],
  ] as const) {
    const [status, code, message] = await refused("patch", `${SCRIPT}/script-settings`, {
      body: { tail_consumers: sent },
    });
    assert.deepEqual([status, code], [400, 10021]);
    assert.match(message, reason);
  }
  assert.deepEqual((await ok("get", `${SCRIPT}/settings`)).tail_consumers, tail_consumers);
});

test("settings omit a compatibility date and observability that were never specified", async (t) => {
  const { ok } = await startWorkersApi(t);
  // Terraform sends an empty date.
  await ok("put", SCRIPT, { body: formOf(metadataOf({ compatibility_date: "" })) });
  const settings = await ok("get", `${SCRIPT}/settings`);
  assert.deepEqual(["compatibility_date" in settings, "observability" in settings], [false, false]);
  await ok("put", SCRIPT, {
    body: formOf(metadataOf({ compatibility_date: "2026-10-01", observability: { enabled: false } })),
  });
  const given = await ok("get", `${SCRIPT}/settings`);
  assert.deepEqual([given.compatibility_date, given.observability], ["2026-10-01", { enabled: false }]);
});
