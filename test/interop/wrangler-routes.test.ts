import assert from "node:assert/strict";
import { request } from "node:http";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { all, failsWith, sdk } from "./cloudflare-sdk.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const WORKER = (name: string) =>
  `export default { fetch: (request) => new Response("${name} " + request.url, { headers: { "set-cookie": "a=b; Domain=shop.example" } }) };`;

interface DnsRecord {
  name: string;
  type: string;
  content: string;
}

describe("wrangler: routes and custom domains", () => {
  const scope = createScope();
  let platform: Platform;
  let shop: Wrangler;
  let other: Wrangler;
  let zone = "";
  const config = (name: string, more: object) =>
    JSON.stringify({ name, main: "index.js", compatibility_date: "2026-10-01", ...more });
  const routes = [
    "shop.example/*",
    { pattern: "*.shop.example/api/*", zone_name: "shop.example" },
    { pattern: "app.shop.example", custom_domain: true },
  ];
  before(async () => {
    platform = await startPlatform(scope, { REELPOST_HTTP_PUBLIC_URL: "https://www.platform.example" });
    const { id } = await platform.ask<{ id: string }>("/zones", {
      method: "POST",
      body: JSON.stringify({ name: "shop.example", account: { id: platform.account } }),
    });
    zone = id;
    shop = await platform.wrangler({ "wrangler.jsonc": config("shop", { routes }), "index.js": WORKER("shop") });
    other = await platform.wrangler({
      "wrangler.jsonc": config("other", { workers_dev: false, routes: ["shop.example/*"] }),
      "index.js": WORKER("other"),
    });
  });
  after(scope.close);

  const visit = (host: string, path = "/") =>
    new Promise<{ status: number; text: string; headers: Record<string, unknown> }>((resolve, reject) => {
      request(`${platform.url}${path}`, { headers: { host } }, (response) => {
        void text(response).then(
          (body) => resolve({ status: response.statusCode!, text: body, headers: response.headers }),
          reject,
        );
      })
        .on("error", reject)
        .end();
    });
  const records = async () =>
    (await platform.ask<DnsRecord[]>(`/zones/${zone}/dns_records`)).map(({ name, type, content }) => [
      name,
      type,
      content,
    ]);

  it("a deployed worker handles requests for its routes and custom domains, and no others", async () => {
    const unroutedResponse = await visit("shop.example");
    assert.doesNotMatch(unroutedResponse.text, /^shop http/);
    const { text: output } = await shop.run(["deploy"]);
    assert.match(output, /shop\.example\/\*/);
    assert.match(output, /app\.shop\.example \(custom domain\)/);
    for (const [host, path] of [
      ["shop.example", "/"],
      ["www.shop.example", "/api/x?y=1"],
      ["app.shop.example", "/any"],
    ] as const) {
      const { status, text: body, headers } = await visit(host, path);
      assert.deepEqual([status, body], [200, `shop http://${host}${path}`]);
      // The response headers are unchanged, because the host belongs to the worker.
      assert.deepEqual(
        [headers["set-cookie"], headers["content-security-policy"]],
        [["a=b; Domain=shop.example"], undefined],
      );
    }
    for (const host of ["www.shop.example", "other.example", "127.0.0.1"])
      assert.deepEqual((await visit(host)).status, unroutedResponse.status, host);
    assert.deepEqual(await records(), [["app.shop.example", "CNAME", "www.platform.example"]]);
  });

  it("a deploy fails if a route belongs to another worker", async () => {
    const { text: output, code } = await other.attempt(["deploy"]);
    assert.notEqual(code, 0);
    assert.match(output, /shop\.example\/\*/);
    assert.match((await visit("shop.example")).text, /^shop /);
  });

  it("a route without a script disables workers", async () => {
    const { id } = await platform.ask<{ id: string }>(`/zones/${zone}/workers/routes`, {
      method: "POST",
      body: JSON.stringify({ pattern: "shop.example/static/*" }),
    });
    assert.doesNotMatch((await visit("shop.example", "/static/a")).text, /^shop /);
    assert.match((await visit("shop.example", "/static")).text, /^shop /);
    await platform.ask(`/zones/${zone}/workers/routes/${id}`, { method: "DELETE" });
    assert.match((await visit("shop.example", "/static/a")).text, /^shop /);
  });

  it("triggers deploy replaces routes and domains", async () => {
    await shop.write(
      "wrangler.jsonc",
      config("shop", { routes: ["shop.example/new/*", { pattern: "shop.example", custom_domain: true }] }),
    );
    await shop.run(["triggers", "deploy"]);
    assert.match((await visit("shop.example", "/any")).text, /^shop /);
    assert.doesNotMatch((await visit("app.shop.example")).text, /^shop /);
    assert.deepEqual(await records(), [["shop.example", "CNAME", "www.platform.example"]]);
  });

  it("the SDK manages routes and custom domains", async () => {
    const client = sdk(platform, { apiToken: platform.token });
    const account_id = platform.account;
    const createdRoute = await client.workers.routes.create({
      zone_id: zone,
      pattern: "sdk.shop.example/*",
      script: "shop",
    });
    assert.match((await visit("sdk.shop.example")).text, /^shop /);
    assert.equal((await all(client.workers.routes.list({ zone_id: zone }))).length, 2);
    const updated = await client.workers.routes.update(createdRoute.id, {
      zone_id: zone,
      pattern: "sdk2.shop.example/*",
      script: "shop",
    });
    assert.deepEqual(await client.workers.routes.get(createdRoute.id, { zone_id: zone }), updated);
    await client.workers.routes.delete(createdRoute.id, { zone_id: zone });
    await assert.rejects(client.workers.routes.get(createdRoute.id, { zone_id: zone }), failsWith(404, 10009));
    const domain = await client.workers.domains.update({
      account_id,
      zone_id: zone,
      hostname: "sdk.shop.example",
      service: "shop",
      environment: "production",
    });
    assert.equal((await client.workers.domains.get(domain.id, { account_id })).hostname, "sdk.shop.example");
    assert.equal((await all(client.workers.domains.list({ account_id, service: "shop" }))).length, 2);
    await client.workers.domains.delete(domain.id, { account_id });
    await assert.rejects(client.workers.domains.get(domain.id, { account_id }), failsWith(404, 100114));
  });

  it("deleting a worker deletes its routes, custom domains and DNS records", async () => {
    await shop.run(["delete", "--force"]);
    assert.deepEqual(await platform.ask(`/zones/${zone}/workers/routes`), []);
    assert.deepEqual(await platform.ask(`/accounts/${platform.account}/workers/domains`), []);
    assert.deepEqual(await records(), []);
  });
});
