import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createScope, makeProject, serve, writeProjectFile, type TestServer } from "./dev-bench.ts";

const FRONTEND = `
export default {
  async fetch(request, env) {
    const response = await env.BACKEND.fetch(request);
    const missing = await env.MISSING.fetch("https://x/");
    return Response.json({ fetched: await response.text(), sum: await env.ADMIN.add(1, 2), missing: [missing.status, await missing.text()] });
  },
};
`;
const BACKEND = (edition: string) => `
import { WorkerEntrypoint } from "cloudflare:workers";
export default { fetch: (request) => new Response("${edition} " + new URL(request.url).pathname) };
export class Admin extends WorkerEntrypoint {
  add(a, b) { return a + b; }
}
`;

describe("service bindings between the workers of a development server", () => {
  const scope = createScope();
  let server: TestServer;
  let folder: string;
  before(async () => {
    folder = await makeProject(
      scope,
      { "src/index.ts": FRONTEND },
      {
        name: "frontend",
        services: [
          { binding: "BACKEND", service: "backend" },
          { binding: "ADMIN", service: "backend", entrypoint: "Admin" },
          { binding: "MISSING", service: "nobody" },
        ],
      },
    );
    const config = { name: "backend", main: "index.js", compatibility_date: "2026-10-01" };
    await writeProjectFile(folder, "backend/wrangler.jsonc", JSON.stringify(config));
    await writeProjectFile(folder, "backend/index.js", BACKEND("one"));
    server = await serve(scope, folder, { configs: ["wrangler.jsonc", "backend/wrangler.jsonc"] });
  });
  after(() => scope.close());

  const visit = async () => (await (await fetch(`${server.url}/path`)).json()) as Record<string, unknown>;

  it("carry fetch and RPC to the other worker, and cause a clear error if it is not running", async () => {
    assert.deepEqual(await visit(), {
      fetched: "one /path",
      sum: 3,
      missing: [503, "The Worker nobody of the service binding does not exist or is not running.\n"],
    });
  });

  it("reach the new code of a rebuilt worker", async () => {
    await writeProjectFile(folder, "backend/index.js", BACKEND("two"));
    await server.rebuild();
    const { fetched, sum } = await visit();
    assert.deepEqual([fetched, sum], ["two /path", 3]);
  });
});
