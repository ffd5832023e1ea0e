import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Wrangler } from "../support/wrangler.ts";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const base = { main: "index.js", compatibility_date: "2026-10-01" };
const BACKEND = (edition: string) => `
import { WorkerEntrypoint } from "cloudflare:workers";
export default { fetch: (request) => new Response("${edition} " + request.method + " " + request.url) };
export class Admin extends WorkerEntrypoint {
  sum(...numbers) { return numbers.reduce((a, b) => a + b, 0); }
  edition() { return "${edition}"; }
}
`;
const FRONTEND = `
export default {
  async fetch(request, env) {
    const response = await env.BACKEND.fetch("https://backend/path", { method: "POST" });
    return Response.json({ fetched: await response.text(), sum: await env.ADMIN.sum(1, 2, 3), edition: await env.ADMIN.edition() });
  }
};
`;

interface Answer {
  fetched: string;
  sum: number;
  edition: string;
}

describe("wrangler: service bindings", () => {
  const scope = createScope();
  let platform: Platform;
  let backend: Wrangler;
  let frontend: Wrangler;
  before(async () => {
    platform = await startPlatform(scope);
    backend = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({ ...base, name: "backend", workers_dev: false }),
      "index.js": BACKEND("one"),
    });
    frontend = await platform.wrangler({
      "wrangler.jsonc": JSON.stringify({
        ...base,
        name: "frontend",
        services: [
          { binding: "BACKEND", service: "backend" },
          { binding: "ADMIN", service: "backend", entrypoint: "Admin" },
        ],
      }),
      "index.js": FRONTEND,
    });
  });
  after(scope.close);

  const visit = async () => JSON.parse((await platform.visit("frontend")).text) as Answer;

  it("the bound worker must exist", async () => {
    const { text, code } = await frontend.attempt(["deploy"]);
    assert.notEqual(code, 0);
    assert.match(text, /Could not resolve service binding 'BACKEND'\. Target script\s+'backend' not found\./);
    assert.match(text, /\[code: 10143\]/);
  });

  it("a deployed worker calls another one by fetch and RPC, including a named entrypoint", async () => {
    await backend.run(["deploy"]);
    assert.match((await frontend.run(["deploy"])).text, /env\.ADMIN \(backend#Admin\)/);
    assert.deepEqual(await visit(), { fetched: "one POST https://backend/path", sum: 6, edition: "one" });
    const { bindings } = await platform.ask<{ bindings: unknown }>(
      `/accounts/${platform.account}/workers/scripts/frontend/settings`,
    );
    assert.deepEqual(bindings, [
      { name: "BACKEND", type: "service", service: "backend" },
      { name: "ADMIN", type: "service", service: "backend", entrypoint: "Admin" },
    ]);
  });

  it("a deploy of the bound worker takes effect without a deploy of the caller", async () => {
    await backend.write("index.js", BACKEND("two"));
    await backend.run(["deploy"]);
    assert.equal((await visit()).fetched, "two POST https://backend/path");
    const deadline = Date.now() + 60_000;
    // The RPC connection to the old version closes after a pause.
    while ((await visit()).edition !== "two") {
      assert.ok(Date.now() < deadline, "RPC calls still reach the old version");
      await new Promise((resolve) => void setTimeout(resolve, 2500));
    }
  });

  it("a call to a deleted worker causes a clear error", async () => {
    await backend.run(["delete", "--force"]);
    const { text } = await platform.visit("frontend");
    assert.match(text, /The Worker backend of the service binding does not exist or is not running/);
  });
});
