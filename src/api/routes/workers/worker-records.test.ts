import assert from "node:assert/strict";
import { test } from "node:test";
import { sourceOf } from "./author.ts";
import { CODE, formOf, metadataOf, startWorkersApi, TAIL_WORKER, WORKERS } from "./workers.testing.ts";

const WORKER = `${WORKERS}/workers/hello`;
const moduleOf = (content: string, name = "index.js") => ({
  name,
  content_type: "application/javascript+module",
  content_base64: Buffer.from(content).toString("base64"),
});

test("a worker is created, found by name and id, updated, replaced and deleted", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  const body = { name: "hello", tail_consumers: [{ name: "listener" }] };
  assert.deepEqual((await refused("post", `${WORKERS}/workers`, { body })).slice(0, 2), [400, 10021]);
  await ok("put", `${WORKERS}/scripts/listener`, { body: formOf(metadataOf(), TAIL_WORKER) });
  const made = await ok("post", `${WORKERS}/workers`, {
    body: { name: "hello", subdomain: { enabled: true }, tags: ["a"], tail_consumers: [{ name: "listener" }] },
  });
  assert.deepEqual(
    [made.name, made.deployed_on, made.tags, made.tail_consumers, made.subdomain.enabled],
    ["hello", null, ["a"], [{ name: "listener" }], true],
  );
  assert.deepEqual(
    (await refused("post", `${WORKERS}/workers`, { body: { name: "hello" } })).slice(0, 2),
    [409, 10040],
  );
  assert.deepEqual(
    (await refused("post", `${WORKERS}/workers`, { body: { name: "No Name" } })).slice(0, 2),
    [400, 10016],
  );
  assert.deepEqual(await ok("get", `${WORKERS}/workers/${made.id}`), made);

  const patched = await ok("patch", WORKER, {
    body: { logpush: true, observability: { enabled: true, head_sampling_rate: null } },
  });
  assert.deepEqual([patched.logpush, patched.tags, patched.observability], [true, ["a"], { enabled: true }]);
  const replaced = await ok("put", WORKER, { body: { name: "hello" } });
  assert.deepEqual(
    [replaced.logpush, replaced.tags, replaced.tail_consumers, replaced.observability, replaced.subdomain.enabled],
    [false, [], [], { enabled: false }, true],
  );
  assert.equal(await ok("delete", `${WORKERS}/workers/${made.id}`), null);
  assert.deepEqual((await refused("get", WORKER)).slice(0, 2), [404, 10007]);
});

test("a worker is renamed together with a change of its settings, or not at all", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  await ok("put", `${WORKERS}/scripts/hello`, { body: formOf(metadataOf()) });
  await ok("put", `${WORKERS}/scripts/caller`, {
    body: formOf(metadataOf({ bindings: [{ type: "service", name: "API", service: "hello" }] })),
  });
  await ok("post", `${WORKERS}/workers`, { body: { name: "taken" } });
  const before = await ok("patch", WORKER, { body: { tags: ["a"] } });
  for (const [body, code] of [
    [{ name: "taken", tags: [] }, 10040],
    [{ name: "No Name", tags: [] }, 10016],
    [{ name: "other", tail_consumers: [{ name: "none" }] }, 10021],
  ] as const)
    assert.equal((await refused("patch", WORKER, { body }))[1], code);
  assert.deepEqual(await ok("get", WORKER), before);

  const renamed = await ok("patch", WORKER, { body: { name: "other", logpush: true } });
  assert.deepEqual(
    [renamed.id, renamed.name, renamed.tags, renamed.logpush, renamed.deployed_on],
    [before.id, "other", ["a"], true, before.deployed_on],
  );
  const { bindings } = await ok("get", `${WORKERS}/scripts/caller/settings`);
  assert.deepEqual(bindings, [{ type: "service", name: "API", service: "other" }]);
  for (const path of [WORKER, `${WORKERS}/scripts/hello/settings`, `${WORKERS}/scripts/hello/deployments`])
    assert.deepEqual((await refused("get", path)).slice(0, 2), [404, 10007], path);
  assert.deepEqual((await refused("get", `${WORKERS}/services/hello`)).slice(0, 2), [404, 10090]);

  const replaced = await ok("put", `${WORKERS}/workers/${before.id}`, { body: { name: "hello" } });
  assert.deepEqual([replaced.id, replaced.name, replaced.tags, replaced.logpush], [before.id, "hello", [], false]);
});

test("a worker without versions has empty lists, and operations that need code are rejected", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  await ok("post", `${WORKERS}/workers`, { body: { name: "hello" } });
  assert.deepEqual((await ok("get", `${WORKERS}/scripts`))[0].handlers, []);
  assert.deepEqual((await ok("get", `${WORKERS}/scripts/hello/settings`)).bindings, []);
  assert.deepEqual(await ok("get", `${WORKER}/versions`), []);
  assert.deepEqual((await ok("get", `${WORKERS}/scripts/hello/deployments`)).deployments, []);
  assert.equal((await ok("get", `${WORKERS}/services/hello`)).id, "hello");
  for (const path of [`${WORKERS}/scripts/hello`, `${WORKERS}/scripts/hello/content/v2`, `${WORKER}/versions/latest`])
    assert.deepEqual((await refused("get", path)).slice(0, 2), [404, 10222], path);
});

test("versions contain base64 modules in JSON", async (t) => {
  const { ok, refused } = await startWorkersApi(t);
  await ok("post", `${WORKERS}/workers`, { body: { name: "hello" } });
  const body = {
    main_module: "index.js",
    modules: [moduleOf(CODE)],
    compatibility_date: "2026-10-01",
    bindings: [{ type: "plain_text", name: "T", text: "t" }],
    limits: { cpu_ms: 30 },
    annotations: { "workers/tag": "v1" },
  };
  const first = await ok("post", `${WORKER}/versions`, { body });
  assert.deepEqual(
    [first.number, first.main_module, first.limits, first.annotations["workers/tag"], first.source, first.modules],
    [1, "index.js", { cpu_ms: 30 }, "v1", "api", undefined],
  );
  assert.equal((await ok("get", WORKER)).deployed_on, null);
  const second = await ok("post", `${WORKER}/versions`, { query: { deploy: "true" }, body });
  assert.notEqual((await ok("get", WORKER)).deployed_on, null);
  assert.deepEqual(
    (await ok("get", `${WORKER}/versions`)).map(({ number }: { number: number }) => number),
    [2, 1],
  );
  assert.deepEqual(await ok("get", `${WORKER}/versions`, { query: { page: 2 } }), []);

  assert.deepEqual((await ok("get", `${WORKER}/versions/latest`, { query: { include: "modules" } })).modules, [
    moduleOf(CODE),
  ]);
  assert.equal((await ok("get", `${WORKER}/versions/${first.id.slice(0, 8)}`)).id, first.id);
  assert.deepEqual((await refused("get", `${WORKER}/versions/${first.id.slice(0, 7)}`)).slice(0, 2), [404, 10146]);

  const patched = await ok("patch", `${WORKER}/versions/latest`, {
    body: { modules: [moduleOf(CODE, "main.js")], main_module: "main.js", compatibility_flags: ["nodejs_compat"] },
  });
  assert.deepEqual(
    [patched.main_module, patched.compatibility_flags, patched.bindings, patched.limits],
    ["main.js", ["nodejs_compat"], body.bindings, { cpu_ms: 30 }],
  );
  assert.deepEqual((await ok("patch", `${WORKER}/versions/latest`, { body: {} })).bindings, body.bindings);

  assert.equal(await ok("delete", `${WORKER}/versions/${first.id}`), null);
  assert.deepEqual((await refused("delete", `${WORKER}/versions/${second.id}`)).slice(0, 2), [409, 10148]);
  assert.match(
    (
      await refused("post", `${WORKER}/versions`, {
        body: { ...body, modules: [{ ...moduleOf(""), content_base64: "?" }] },
      })
    ).join(" "),
    /^400 10021 .*not base64/,
  );
  assert.match(
    (await refused("post", `${WORKER}/versions`, { body: { modules: [] } })).join(" "),
    /^400 10021 The upload does not name the main module/,
  );
});

test("lists are sorted, and a page past the end is empty", async (t) => {
  const { ok, call } = await startWorkersApi(t);
  for (const name of ["b", "a", "c"])
    await ok("post", `${WORKERS}/workers`, { body: { name, tags: name === "c" ? ["production"] : [] } });
  await ok("put", `${WORKERS}/scripts/a`, { body: formOf(metadataOf()) });
  const names = async (path: string, query: Record<string, string | number> = {}) =>
    (await ok("get", path, { query })).map(
      ({ name, id, script_name }: Record<string, string>) => script_name ?? name ?? id,
    );
  assert.deepEqual(await names(`${WORKERS}/scripts`), ["a", "b", "c"]);
  assert.deepEqual(await names(`${WORKERS}/scripts`, { tags: "production:yes" }), ["c"]);
  assert.deepEqual(await names(`${WORKERS}/scripts`, { tags: "production:no", page: 2, per_page: 1 }), ["b"]);
  assert.deepEqual(await names(`${WORKERS}/workers`), ["a", "b", "c"]);
  assert.deepEqual(await names(`${WORKERS}/workers`, { order_by: "name", order: "desc" }), ["c", "b", "a"]);
  assert.deepEqual(await names(`${WORKERS}/workers`, { order_by: "name", order: "asc", per_page: 2, page: 2 }), ["c"]);
  assert.deepEqual(await names(`${WORKERS}/workers`, { page: 2 }), []);
  assert.deepEqual(await names(`${WORKERS}/scripts-search`, { name: "B" }), []);
  assert.deepEqual(await names(`${WORKERS}/scripts-search`, { name: "b" }), ["b"]);
  const { id } = await ok("get", `${WORKERS}/workers/c`);
  assert.deepEqual(await names(`${WORKERS}/scripts-search`, { id }), ["c"]);
  assert.deepEqual(
    (await call("get", `${WORKERS}/scripts-search`, { query: { per_page: 2, order_by: "created_on" } })).body
      .result_info,
    { page: 1, per_page: 2, count: 2, total_count: 3, total_pages: 2 },
  );
});

test("the user agent determines the reported source of a change", () => {
  assert.deepEqual(
    [
      "wrangler/4.164.0",
      "Cloudflare/TypeScript 7.3.0",
      "Terraform/1.9",
      "Mozilla/5.0",
      "curl/8",
      "constructor/1",
      "",
      null,
    ].map(sourceOf),
    ["wrangler", "api", "terraform", "dash", "api", "api", "api", "api"],
  );
});
