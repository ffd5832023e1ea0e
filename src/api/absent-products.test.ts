import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { unavailableProductOf } from "./absent-products.ts";
import { startApi, TEST_ACCOUNT } from "./api.testing.ts";

const WRANGLER = new URL("../../test/clients/node_modules/wrangler/wrangler-dist/cli.js", import.meta.url);

test("the error for an unavailable product names the product", async (t) => {
  const { call } = await startApi(t, { routes: [] });
  for (const [method, path, message] of [
    ["get", `/accounts/${TEST_ACCOUNT}/vectorize/v2/indexes`, "Vectorize is not available on this server."],
    ["post", `/accounts/${TEST_ACCOUNT}/hyperdrive/configs`, "Hyperdrive is not available on this server."],
    ["put", `/accounts/${TEST_ACCOUNT}/workflows/w`, "Workflows are not available on this server."],
    ["post", "/pages/assets/check-missing", "Pages is not available on this server."],
    ["get", `/accounts/${TEST_ACCOUNT}/containers/me`, "Containers are not available on this server."],
    ["get", `/accounts/${TEST_ACCOUNT}/r2/buckets/b/lock`, "R2 bucket locks are not available on this server."],
  ] as const) {
    const { status, body } = await call(method, path);
    assert.deepEqual([status, body.success, body.errors[0].code, body.errors[0].message], [404, false, 7000, message]);
  }
  assert.match((await call("get", `/accounts/${TEST_ACCOUNT}/ais`)).body.errors[0].message, /^No route for that URI/);
});

test("paths of available products match no unavailable product", () => {
  for (const path of [
    "workers/scripts/vectorize",
    "workers/workers/pages",
    "r2/buckets/b/objects/lifecycle",
    "storage/kv/namespaces/ai",
    "stream/images",
    "d1/database/hyperdrive/query",
    "email/routing/rules",
  ])
    assert.equal(unavailableProductOf(`/accounts/${TEST_ACCOUNT}/${path}`), undefined, path);
});

test("covers the paths that wrangler uses for these products", { skip: !existsSync(WRANGLER) }, () => {
  const products =
    /^(vectorize|hyperdrive|pipelines|workflows|containers|browser-rendering|pages|ai|ai-gateway|ai-search|images|mtls_certificates|agent-memory|artifacts|flagship|connectivity|r2-catalog|event_subscriptions|workers\/dispatch|workers\/observability)(\/|$)/;
  const paths = [...readFileSync(WRANGLER, "utf8").matchAll(/`\/accounts\/\$\{[^}]*\}\/([^`?]+)/g)]
    .map(([, path]) => path!.replaceAll(/\$\{[^}]*\}/g, "x"))
    .filter((path) => products.test(path));
  assert.ok(paths.length > 100, `${paths.length} paths`);
  for (const path of paths) assert.ok(unavailableProductOf(`/accounts/x/${path}`), path);
});
