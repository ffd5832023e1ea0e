import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formOf, metadataOf, startWorkersApi, WORKERS, WRANGLER, type WorkersApi } from "./workers.testing.ts";

/** wrangler's requests, in the order wrangler sends them. */

const SCRIPT = `${WORKERS}/scripts/hello`;
const headers = WRANGLER;
const codeOf = (text: string) =>
  `export default { async fetch() { return new Response(${JSON.stringify(text)}); } };\n`;
const uploadOf = (text: string, more: object = {}) =>
  formOf(metadataOf({ keep_bindings: ["secret_text", "secret_key"], ...more }), {
    "index.js": [codeOf(text), "application/javascript+module"],
    "index.js.map": ['{"version":3,"sources":[],"mappings":""}', "application/source-map"],
  });

async function firstDeploy({ ok, refused }: WorkersApi) {
  assert.deepEqual((await refused("get", `${WORKERS}/services/hello`, { headers })).slice(0, 2), [404, 10090]);
  assert.deepEqual((await refused("get", `${SCRIPT}/secrets`, { headers })).slice(0, 2), [404, 10007]);
  assert.deepEqual(await ok("get", `${WORKERS}/subdomain`, { headers }), { subdomain: "acme" });
  assert.deepEqual((await refused("get", `${SCRIPT}/deployments`, { headers })).slice(0, 2), [404, 10007]);
  assert.deepEqual((await refused("get", `${SCRIPT}/settings`, { headers })).slice(0, 2), [404, 10007]);
  const bindings = [
    { name: "GREETING", type: "plain_text", text: "hi" },
    { name: "LIST", type: "json", json: { a: [1] } },
    { name: "KV", type: "kv_namespace", namespace_id: "1" },
    { name: "DB", type: "d1", id: "2" },
    { name: "BUCKET", type: "r2_bucket", bucket_name: "b" },
    { name: "MAIL", type: "send_email", destination_address: "a@example.com" },
  ];
  const uploaded = await ok("put", SCRIPT, {
    headers,
    query: { excludeScript: "true", bindings_inherit: "strict" },
    body: uploadOf("one", {
      bindings,
      code_update_strategy: { mode: "deferred", max_delay: 300 },
      observability: { enabled: true },
    }),
  });
  const worker = await ok("get", `${WORKERS}/workers/hello`, { headers });
  assert.deepEqual(worker.subdomain, {
    enabled: false,
    previews_enabled: false,
    url: "http://hello.acme.workers.test",
  });
  assert.deepEqual(
    await ok("post", `${SCRIPT}/subdomain`, {
      headers: { ...headers, "cloudflare-workers-script-api-date": "2025-08-01" },
      body: { enabled: true },
    }),
    { enabled: true, previews_enabled: false },
  );
  return uploaded;
}

async function laterDeploy({ ok }: WorkersApi, text: string) {
  const version = await ok("post", `${SCRIPT}/versions`, {
    headers,
    query: { bindings_inherit: "strict" },
    body: uploadOf(text),
  });
  const deployment = await ok("post", `${SCRIPT}/deployments`, {
    headers,
    body: {
      strategy: "percentage",
      versions: [{ version_id: version.id, percentage: 100 }],
      annotations: {},
      code_update_strategy: { mode: "deferred", max_delay: 300 },
    },
  });
  await ok("patch", `${SCRIPT}/script-settings`, { headers, body: { observability: { enabled: false }, tags: [] } });
  return { version, deployment };
}

describe("wrangler", { concurrency: true }, () => {
  test("deploys a new worker", async (t) => {
    const api = await startWorkersApi(t);
    const uploaded = await firstDeploy(api);
    assert.match(uploaded.tag, /^[0-9a-f]{32}$/);
    assert.deepEqual(
      [
        uploaded.id,
        uploaded.handlers,
        uploaded.entry_point,
        uploaded.has_modules,
        uploaded.last_deployed_from,
        uploaded.observability,
      ],
      ["hello", ["fetch"], "index.js", true, "wrangler", { enabled: true }],
    );
    assert.equal(typeof uploaded.startup_time_ms, "number");

    const service = await api.ok("get", `${WORKERS}/services/hello`, { headers });
    assert.deepEqual(
      [
        service.default_environment.environment,
        service.default_environment.script.tag,
        service.default_environment.script.last_deployed_from,
      ],
      ["production", uploaded.tag, "wrangler"],
    );
    const settings = await api.ok("get", `${SCRIPT}/settings`, { headers });
    assert.deepEqual(
      settings.bindings.map(({ name, type }: { name: string; type: string }) => `${name} ${type}`),
      ["GREETING plain_text", "LIST json", "KV kv_namespace", "DB d1", "BUCKET r2_bucket", "MAIL send_email"],
    );
    assert.deepEqual([settings.compatibility_date, settings.compatibility_flags], ["2026-10-01", ["nodejs_compat"]]);
    const { deployments } = await api.ok("get", `${SCRIPT}/deployments`, { headers });
    assert.deepEqual(deployments[0].versions, [{ version_id: uploaded.deployment_id, percentage: 100 }]);
    assert.deepEqual([deployments[0].source, deployments[0].author_email], ["wrangler", "admin@example.com"]);
  });

  test("deploys a second version and keeps the secrets", async (t) => {
    const api = await startWorkersApi(t);
    await firstDeploy(api);
    await api.ok("put", `${SCRIPT}/secrets`, { headers, body: { name: "TOKEN", text: "s3cret", type: "secret_text" } });
    const { version, deployment } = await laterDeploy(api, "two");
    assert.equal(version.number, 3);
    assert.match(version.resources.script.etag, /^[0-9a-f]{64}$/);
    assert.deepEqual(version.resources.bindings, [{ name: "TOKEN", type: "secret_text" }]);
    const { deployments } = await api.ok("get", `${SCRIPT}/deployments`, { headers });
    assert.equal(deployments[0].id, deployment.id);
    assert.deepEqual(await api.ok("get", `${SCRIPT}/secrets`, { headers }), [{ name: "TOKEN", type: "secret_text" }]);
    assert.equal(
      JSON.stringify(await api.ok("get", `${SCRIPT}/versions/${version.id}`, { headers })).includes("s3cret"),
      false,
    );
  });

  test("puts, lists and deletes secrets, individually and in bulk", async (t) => {
    const { ok, refused, ...api } = await startWorkersApi(t);
    const put = { headers, body: { name: "A", text: "1", type: "secret_text" } };
    assert.deepEqual((await refused("put", `${SCRIPT}/secrets`, put)).slice(0, 2), [404, 10007]);
    await firstDeploy({ ...api, ok, refused });
    assert.deepEqual(await ok("put", `${SCRIPT}/secrets`, put), { name: "A", type: "secret_text" });
    const bulk = {
      secrets: {
        B: { name: "B", text: "2", type: "secret_text" },
        C: { name: "C", text: "3", type: "secret_text" },
        A: null,
      },
    };
    assert.deepEqual(
      Object.keys(
        await ok("patch", `${SCRIPT}/secrets-bulk`, {
          headers: { ...headers, "content-type": "application/merge-patch+json" },
          body: bulk,
        }),
      ).sort(),
      ["B", "C"],
    );
    assert.deepEqual(await ok("get", `${SCRIPT}/secrets/B`, { headers }), { name: "B", type: "secret_text" });
    assert.equal(await ok("delete", `${SCRIPT}/secrets/B`, { headers, query: { url_encoded: "true" } }), null);
    assert.deepEqual(
      (await refused("delete", `${SCRIPT}/secrets/B`, { headers, query: { url_encoded: "true" } })).slice(0, 2),
      [404, 10056],
    );
    assert.deepEqual(await ok("get", `${SCRIPT}/secrets`, { headers, query: { page: 2 } }), []);
    const { deployments } = await ok("get", `${SCRIPT}/deployments`, { headers });
    assert.equal(deployments.length, 4);
    assert.equal(deployments[0].annotations["workers/triggered_by"], "secret");
  });

  test("puts a secret into a new version without deploying it", async (t) => {
    const api = await startWorkersApi(t);
    const { ok, refused } = api;
    const patch = {
      headers: { ...headers, "content-type": "application/merge-patch+json" },
      body: { env: { X2: { type: "secret_text", text: "v" } }, annotations: { "workers/message": "with X2" } },
    };
    const latest = `${WORKERS}/workers/hello/versions/latest`;
    assert.deepEqual((await refused("patch", latest, patch)).slice(0, 2), [404, 10007]);
    await ok("post", `${WORKERS}/workers`, { headers, body: { name: "hello" } });
    assert.deepEqual((await refused("patch", latest, patch)).slice(0, 2), [404, 10222]);
    await ok("delete", `${WORKERS}/workers/hello`, { headers });
    await firstDeploy(api);

    const version = await ok("patch", latest, patch);
    assert.deepEqual(
      [version.number, version.annotations["workers/message"], version.bindings.at(-1)],
      [2, "with X2", { name: "X2", type: "secret_text" }],
    );
    assert.equal(version.bindings.length, 7);
    assert.equal((await ok("get", `${SCRIPT}/deployments`, { headers })).deployments.length, 1);
    const without = await ok("patch", latest, { headers, body: { env: { X2: null, GREETING: null } } });
    assert.deepEqual(
      without.bindings.map(({ name }: { name: string }) => name),
      ["LIST", "KV", "DB", "BUCKET", "MAIL"],
    );
  });

  test("lists versions and deployments, and rolls back", async (t) => {
    const api = await startWorkersApi(t);
    const { ok } = api;
    const { deployment_id: first } = await firstDeploy(api);
    const { version } = await laterDeploy(api, "two");
    const { items } = await ok("get", `${SCRIPT}/versions`, { headers, query: { deployable: "true" } });
    assert.deepEqual(
      items.map(({ id, number }: { id: string; number: number }) => [id, number]),
      [
        [version.id, 2],
        [first, 1],
      ],
    );
    assert.deepEqual((await ok("get", `${SCRIPT}/versions`, { headers, query: { page: 2 } })).items, []);
    const { deployments } = await ok("get", `${SCRIPT}/deployments`, { headers });
    for (const { versions } of deployments)
      await ok("get", `${SCRIPT}/versions/${versions[0].version_id}`, { headers });
    const rolled = await ok("post", `${SCRIPT}/deployments`, {
      headers,
      body: {
        strategy: "percentage",
        versions: [{ version_id: first, percentage: 100 }],
        annotations: { "workers/message": "undo" },
      },
    });
    assert.equal(rolled.annotations["workers/message"], "undo");
    const after = (await ok("get", `${SCRIPT}/deployments`, { headers })).deployments;
    assert.deepEqual([after.length, after[0].id, after[0].versions[0].version_id], [3, rolled.id, first]);
    assert.deepEqual((await ok("get", `${SCRIPT}/deployments`, { headers, query: { page: 9 } })).deployments, []);
  });

  test("deletes a worker", async (t) => {
    const api = await startWorkersApi(t);
    const { ok, refused } = api;
    await firstDeploy(api);
    assert.deepEqual(
      await ok("get", `${WORKERS}/durable_objects/namespaces`, { headers, query: { per_page: 1000, page: 1 } }),
      [],
    );
    assert.deepEqual(await ok("get", `${SCRIPT}/references`, { headers }), {
      services: { incoming: [], outgoing: [], pages_function: false },
      durable_objects: [],
      dispatch_outbounds: [],
    });
    assert.deepEqual(await ok("get", `${WORKERS}/tails/by-consumer/hello`, { headers }), []);
    assert.equal(await ok("delete", `${WORKERS}/services/hello`, { headers, query: { force: "true" } }), null);
    assert.deepEqual((await refused("get", `${WORKERS}/services/hello`, { headers })).slice(0, 2), [404, 10090]);
    assert.deepEqual((await refused("delete", `${WORKERS}/services/hello`, { headers })).slice(0, 2), [404, 10090]);
    assert.deepEqual(await ok("get", `${WORKERS}/scripts`, { headers }), []);
  });

  test("downloads a worker with its settings", async (t) => {
    const api = await startWorkersApi(t);
    const { ok, call } = api;
    await firstDeploy(api);
    await ok("put", `${SCRIPT}/schedules`, { headers, body: [{ cron: "*/5 * * * *" }] });
    const environment = `${WORKERS}/services/hello/environments/production`;
    assert.equal((await ok("get", `${environment}/bindings`, { headers })).length, 6);
    assert.deepEqual(await ok("get", `${environment}/routes`, { headers, query: { show_zonename: "true" } }), []);
    assert.deepEqual(
      await ok("get", `${WORKERS}/domains/records`, { headers, query: { page: 0, per_page: 5, service: "hello" } }),
      [],
    );
    assert.deepEqual(await ok("get", `${environment}/subdomain`, { headers }), {
      enabled: true,
      previews_enabled: false,
    });
    assert.equal((await ok("get", environment, { headers })).script.compatibility_date, "2026-10-01");
    assert.deepEqual(
      (await ok("get", `${SCRIPT}/schedules`, { headers })).schedules.map(({ cron }: { cron: string }) => cron),
      ["*/5 * * * *"],
    );
    const content = await call("get", `${environment}/content/v2`, { headers });
    assert.equal(content.headers.get("cf-entrypoint"), "index.js");
    const form = await new Response(content.bytes, {
      headers: { "content-type": content.headers.get("content-type")! },
    }).formData();
    assert.deepEqual([...form.keys()], ["index.js", "index.js.map"]);
    assert.equal(await (form.get("index.js") as File).text(), codeOf("one"));
    assert.equal((form.get("index.js") as File).type, "application/javascript+module");
  });
});
