import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const CONFIG = {
  name: "limited",
  main: "index.js",
  compatibility_date: "2026-10-01",
  ratelimits: [{ name: "LIMITER", namespace_id: "1001", simple: { limit: 3, period: 60 } }],
};
const WORKER = `
export default {
  async fetch(request, env) {
    const key = new URL(request.url).pathname;
    const results = [];
    for (let i = 0; i < 8; i++) results.push((await env.LIMITER.limit({ key })).success);
    return Response.json(results);
  }
};`;

describe("wrangler: rate limits", () => {
  const scope = createScope();
  let platform: Platform;
  let wrangler: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    wrangler = await platform.wrangler({ "wrangler.jsonc": JSON.stringify(CONFIG), "index.js": WORKER });
  });
  after(scope.close);

  const allowed = async (worker: string, path: string) =>
    (JSON.parse((await platform.visit(worker, path)).text) as boolean[]).filter(Boolean).length;

  it("a deployed worker counts per key, and shares the count with other workers of the namespace", async () => {
    assert.match((await wrangler.run(["deploy"])).text, /env\.LIMITER \(3 requests\/60s\)/);
    await wrangler.run(["deploy", "--name", "also-limited"]);
    // Up to twice the limit, because a period may end between two calls.
    const first = await allowed("limited", "/a");
    const second = await allowed("also-limited", "/a");
    assert.ok(first >= 3 && first <= 6 && second <= 3, `${first} ${second}`);
    assert.ok((await allowed("also-limited", "/b")) >= 3);
  });

  it("a rate limit in unsafe.bindings works like one in ratelimits", async () => {
    const { ratelimits, ...rest } = CONFIG;
    const unsafe = { bindings: ratelimits.map((entry) => ({ ...entry, type: "ratelimit" })) };
    const older = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({ ...rest, name: "older", unsafe }),
      "index.js": WORKER,
    });
    await older.run(["deploy"]);
    const count = await allowed("older", "/older");
    assert.ok(count >= 3 && count <= 6, String(count));
    const { bindings } = await platform.ask<{ bindings: unknown }>(
      `/accounts/${platform.account}/workers/scripts/older/settings`,
    );
    assert.deepEqual(bindings, [
      { name: "LIMITER", type: "ratelimit", namespace_id: "1001", simple: { limit: 3, period: 60 } },
    ]);
  });

  it("the API returns the binding and rejects invalid ones", async () => {
    const path = `/accounts/${platform.account}/workers/scripts/limited`;
    const { bindings } = await platform.ask<{ bindings: unknown }>(`${path}/settings`);
    assert.deepEqual(bindings, [
      { name: "LIMITER", type: "ratelimit", namespace_id: "1001", simple: { limit: 3, period: 60 } },
    ]);
    for (const [simple, field] of [
      [{ limit: 3, period: 30 }, "simple.period"],
      [{ limit: 0, period: 60 }, "simple.limit"],
      [{ limit: 3, period: 60, mitigation_timeout: 60 }, "simple.mitigation_timeout"],
    ] as const) {
      const form = new FormData();
      form.set("settings", JSON.stringify({ bindings: [{ name: "L", type: "ratelimit", namespace_id: "1", simple }] }));
      await assert.rejects(platform.ask(`${path}/settings`, { method: "PATCH", body: form }), (err: Error) =>
        err.message.includes(field),
      );
    }
  });
});
