import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, describe, it } from "node:test";
import { createScope, startPlatform, type Platform } from "./platform.ts";

const WORKER = `export default {
  fetch: async (request, env) => new Response(env.AI === undefined ? "undefined" : (await env.AI.run("m", { prompt: "hi" })).response),
};`;

describe("wrangler: Workers AI", () => {
  const scope = createScope();
  let url = "";
  before(async () => {
    const server = createServer((_request, response) => response.end('{"choices":[{"message":{"content":"hello"}}]}'));
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    scope.after(async () => {
      server.closeAllConnections();
      server.close();
    });
    url = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`;
  });
  after(scope.close);

  async function deployed(env: Record<string, string>): Promise<Platform> {
    const platform = await startPlatform(scope, env);
    const config = { name: "ai", main: "index.js", compatibility_date: "2026-10-01", ai: { binding: "AI" } };
    const wrangler = await platform.wrangler({ "wrangler.jsonc": JSON.stringify(config), "index.js": WORKER });
    await wrangler.run(["deploy"]);
    return platform;
  }

  it("a deployed worker uses the AI server of the settings", async () => {
    const platform = await deployed({ REELPOST_WORKERS_AI_URL: url });
    assert.equal((await platform.visit("ai")).text, "hello");
  });

  it("without an AI server, the binding is undefined", async () => {
    const platform = await deployed({});
    assert.equal((await platform.visit("ai")).text, "undefined");
  });
});
