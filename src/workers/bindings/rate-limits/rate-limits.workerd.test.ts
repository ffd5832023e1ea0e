import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createManualClock } from "../../../kernel/index.ts";
import { noServices, scriptOf, startRuntime } from "../../runtime/runtime.testing.ts";
import { createRateLimitService } from "./service.ts";

const WORKER = `
const INVALID = [undefined, null, "key", { key: 1 }, { key: "a", limit: 1 }];
export default {
  async fetch(request, env) {
    if (request.url.endsWith("/invalid"))
      return Response.json(await Promise.all(INVALID.map((options) => env.LIMITER.limit(options).then(JSON.stringify, (err) => err.message))));
    const key = await request.text();
    return Response.json(await env[new URL(request.url).pathname.slice(1)].limit({ key }));
  }
}`;

test("limit() in a worker", async (t) => {
  const clock = createManualClock(1_700_000_040_000);
  const runtime = startRuntime({ services: { ...noServices, rateLimit: createRateLimitService({ clock }) } });
  t.after(() => runtime.close());
  let worker = "test";
  const server = createServer((request, response) => void runtime.fetch(worker, request, response));
  t.after(() => void server.close());
  t.after(() => server.closeAllConnections());
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const script = scriptOf(WORKER, {
    account: "a".repeat(32),
    bindings: [
      { type: "ratelimit", name: "LIMITER", namespace_id: "1", simple: { limit: 2, period: 60 } },
      { type: "ratelimit", name: "OTHER", namespace_id: "2", simple: { limit: 1, period: 10 } },
    ],
  });
  await runtime.deploy(script);
  await runtime.deploy({ ...script, name: "second" });
  const limit = async (binding: string, key: string) =>
    ((await (await fetch(`${url}/${binding}`, { method: "POST", body: key })).json()) as { success: boolean }).success;

  assert.deepEqual(
    [await limit("LIMITER", "é"), await limit("LIMITER", "é"), await limit("LIMITER", "é")],
    [true, true, false],
  );
  assert.deepEqual(
    [await limit("OTHER", "é"), await limit("OTHER", "é"), await limit("OTHER", "")],
    [true, false, true],
  );
  worker = "second";
  assert.deepEqual([await limit("LIMITER", "é"), await limit("LIMITER", "k".repeat(100_000))], [false, true]);
  clock.advance(60_000);
  assert.equal(await limit("LIMITER", "é"), true);
  assert.deepEqual(await (await fetch(`${url}/invalid`)).json(), [
    "invalid rate limit options",
    "invalid rate limit options",
    "invalid rate limit options",
    "invalid key: 1",
    "bad rate limit options: [limit]",
  ]);
});
