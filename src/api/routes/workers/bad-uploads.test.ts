import assert from "node:assert/strict";
import { test } from "node:test";
import { TEST_TOKEN } from "../../api.testing.ts";
import { CODE, formOf, metadataOf, startWorkersApi, WORKERS } from "./workers.testing.ts";

const SCRIPT = `${WORKERS}/scripts/hello`;
const multipart = { "content-type": "multipart/form-data; boundary=X" };

test("an invalid upload changes nothing and reports the reason", async (t) => {
  const { refused, ok } = await startWorkersApi(t);
  const put = async (body: unknown, headers = {}) => (await refused("put", SCRIPT, { body, headers })).join(" ");

  assert.match(
    await put('--X\r\nContent-Disposition: form-data; name="metadata"\r\n\r\n{}', multipart),
    /^400 10021 Malformed multipart/,
  );
  assert.match(await put("", multipart), /^400 10021 Malformed multipart/);
  assert.match(
    await put("{}", { "content-type": "application/json" }),
    /^400 10021 Malformed multipart.*the content type is "application\/json"/,
  );
  assert.match(await put(formOf(undefined)), /^400 10021 The upload has no part metadata/);
  assert.match(await put(formOf("nonsense")), /^400 10021 The part metadata is invalid: it is not JSON/);
  assert.match(await put(formOf(metadataOf({ main_module: "other.js" }))), /^400 10021 .*No such module "other.js"/);
  assert.match(
    await put(formOf(metadataOf({ bindings: [{ name: "HD", type: "hyperdrive" }] }))),
    /^400 10021 Binding 'HD' has the type 'hyperdrive'/,
  );
  assert.match(
    await put(
      formOf(
        metadataOf({
          bindings: [
            { name: "A", type: "json", json: 1 },
            { name: "A", type: "plain_text", text: "" },
          ],
        }),
      ),
    ),
    /^400 10053 /,
  );
  assert.match(
    await put(formOf(metadataOf({ bindings: [{ name: "KV", type: "kv_namespace", namespace_id: "missing" }] }))),
    /^400 10041 /,
  );
  assert.match(
    await put(formOf(metadataOf({ bindings: [{ name: "B", type: "r2_bucket", bucket_name: "missing" }] }))),
    /^400 10085 /,
  );
  assert.match(await put(formOf(metadataOf({ bindings: [{ name: "D", type: "d1", id: "missing" }] }))), /^400 10181 /);
  assert.match(
    await put(formOf(metadataOf({ compatibility_date: "soon" }))),
    /^400 10021 "soon" is not a valid compatibility date/,
  );
  assert.match(
    await put(formOf(metadataOf(), { "index.js": ["export default {", "application/javascript+module"] })),
    /^400 10021 .*SyntaxError/s,
  );
  assert.match(
    await put(
      formOf(metadataOf(), {
        "index.js": [CODE, "application/javascript+module"],
        "big.bin": [new Uint8Array(11 * 1024 * 1024), "application/octet-stream"],
      }),
    ),
    /^413 10027 Your Worker exceeded the size limit of 10 MiB/,
  );

  const twice = formOf(metadataOf());
  twice.append("index.js", new File([CODE], "index.js", { type: "application/javascript+module" }));
  assert.match(await put(twice), /^400 10021 .*two modules named "index.js"/);
  assert.deepEqual(
    (await refused("put", `${WORKERS}/scripts/Not%20a%20name`, { body: formOf(metadataOf()) })).slice(0, 2),
    [400, 10016],
  );
  assert.deepEqual(await ok("get", `${WORKERS}/scripts`), []);

  await ok("put", SCRIPT, { body: formOf(metadataOf()) });
  const strict = {
    query: { bindings_inherit: "strict" },
    body: formOf(metadataOf({ bindings: [{ name: "S", type: "inherit" }] })),
  };
  assert.deepEqual((await refused("put", SCRIPT, strict)).slice(0, 2), [400, 10057]);
  assert.equal((await ok("get", `${SCRIPT}/versions`)).items.length, 1);
});

test("rejects a body above the limit with the published code for workers that are too large", async (t) => {
  const { url, refused } = await startWorkersApi(t);
  const [status, code, message] = await refused("put", SCRIPT, {
    body: new Uint8Array(49 * 1024 * 1024),
    headers: multipart,
  });
  assert.deepEqual([status, code], [413, 10027], message);
  assert.ok(url.endsWith("/client/v4"));
});

test("rejects deployments of unknown versions", async (t) => {
  const { refused, ok } = await startWorkersApi(t);
  const { deployment_id: one } = await ok("put", SCRIPT, { body: formOf(metadataOf()) });
  const { deployment_id: other } = await ok("put", `${WORKERS}/scripts/other`, { body: formOf(metadataOf()) });
  const deploy = async (versions: unknown, more = {}) =>
    (await refused("post", `${SCRIPT}/deployments`, { body: { strategy: "percentage", versions, ...more } })).slice(
      0,
      2,
    );
  assert.deepEqual(await deploy([{ version_id: other, percentage: 100 }]), [404, 10146]);
  assert.deepEqual(await deploy([{ version_id: one, percentage: 60 }]), [400, 10147]);
  assert.deepEqual(
    await deploy([
      { version_id: one, percentage: 60 },
      { version_id: one, percentage: 40 },
    ]),
    [400, 10147],
  );
  assert.deepEqual(await deploy([]), [400, 10147]);
  assert.deepEqual(await deploy([{ version_id: one }]), [400, 10001]);
  assert.deepEqual(await deploy([{ version_id: one, percentage: 100 }], { strategy: "all" }), [400, 10001]);
  assert.deepEqual((await refused("get", `${SCRIPT}/versions/${other}`)).slice(0, 2), [404, 10146]);
  const [{ id }] = (await ok("get", `${SCRIPT}/deployments`)).deployments;
  assert.equal((await ok("get", `${SCRIPT}/deployments/${id}`)).id, id);
  assert.deepEqual((await refused("delete", `${SCRIPT}/deployments/${id}`)).slice(0, 2), [409, 10150]);
  assert.deepEqual((await refused("get", `${SCRIPT}/deployments/${one}`)).slice(0, 2), [404, 10149]);
  await ok("post", `${SCRIPT}/deployments`, { body: { versions: [{ version_id: one, percentage: 100 }] } });
  assert.equal(await ok("delete", `${SCRIPT}/deployments/${id}`), null);
  assert.equal((await ok("get", `${SCRIPT}/deployments`)).deployments.length, 1);
});

test("every operation on an unknown worker returns 404 and creates nothing", async (t) => {
  const { call, ok, url } = await startWorkersApi(t);
  const requests: [method: string, path: string, body?: unknown][] = [
    ["get", SCRIPT],
    ["delete", SCRIPT],
    ["get", `${SCRIPT}/content/v2`],
    ["put", `${SCRIPT}/content`, formOf({ main_module: "index.js" })],
    ["get", `${SCRIPT}/versions`],
    ["get", `${SCRIPT}/versions/1`],
    ["get", `${SCRIPT}/deployments`],
    ["post", `${SCRIPT}/deployments`, { versions: [{ version_id: "1", percentage: 100 }] }],
    ["get", `${SCRIPT}/deployments/1`],
    ["delete", `${SCRIPT}/deployments/1`],
    ["get", `${SCRIPT}/secrets`],
    ["put", `${SCRIPT}/secrets`, { name: "A", text: "" }],
    ["get", `${SCRIPT}/secrets/A`],
    ["delete", `${SCRIPT}/secrets/A`],
    ["patch", `${SCRIPT}/secrets-bulk`, { secrets: { A: { text: "" } } }],
    ["get", `${SCRIPT}/settings`],
    ["patch", `${SCRIPT}/settings`, {}],
    ["get", `${SCRIPT}/script-settings`],
    ["patch", `${SCRIPT}/script-settings`, {}],
    ["get", `${SCRIPT}/subdomain`],
    ["post", `${SCRIPT}/subdomain`, { enabled: true }],
    ["delete", `${SCRIPT}/subdomain`],
    ["get", `${SCRIPT}/schedules`],
    ["put", `${SCRIPT}/schedules`, []],
    ["get", `${SCRIPT}/usage-model`],
    ["put", `${SCRIPT}/usage-model`, {}],
    ["get", `${WORKERS}/workers/hello`],
    ["patch", `${WORKERS}/workers/hello`, {}],
    ["delete", `${WORKERS}/workers/hello`],
    ["get", `${WORKERS}/workers/hello/versions`],
    ["get", `${WORKERS}/workers/hello/versions/latest`],
  ];
  for (const [method, path, body] of requests) {
    const { status, body: answered } = await call(method, path, { body });
    assert.deepEqual([status, answered?.errors[0].code], [404, 10007], `${method} ${path}`);
  }
  // Not sent with call(): the published schema for a failure of this operation has an object as `result` instead of null.
  const uploaded = await fetch(`${url}${SCRIPT}/versions`, {
    method: "POST",
    headers: { authorization: `Bearer ${TEST_TOKEN}` },
    body: formOf(metadataOf()),
  });
  assert.deepEqual(
    [uploaded.status, ((await uploaded.json()) as { errors: { code: number }[] }).errors[0]!.code],
    [404, 10007],
  );
  assert.deepEqual(await ok("get", `${WORKERS}/scripts`), []);
});
