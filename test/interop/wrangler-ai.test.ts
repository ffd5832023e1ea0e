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

  async function deployWorker(env: Record<string, string>): Promise<Platform> {
    const platform = await startPlatform(scope, env);
    const config = { name: "ai", main: "index.js", compatibility_date: "2026-10-01", ai: { binding: "AI" } };
    const wrangler = await platform.wrangler({ "wrangler.jsonc": JSON.stringify(config), "index.js": WORKER });
    await wrangler.run(["deploy"]);
    return platform;
  }

  it("a deployed worker uses the AI server in the settings", async () => {
    const platform = await deployWorker({ REELPOST_WORKERS_AI_URL: url });
    assert.equal((await platform.visit("ai")).text, "hello");
  });

  it("the binding is undefined if no AI server is configured", async () => {
    const platform = await deployWorker({});
    assert.equal((await platform.visit("ai")).text, "undefined");
  });
});
