import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import type { Invocation, WorkerRuntime } from "../runtime/port.ts";
import { noServices, scriptOf, startRuntime } from "../runtime/runtime.testing.ts";
import { createAiService } from "./index.ts";

/** Runs the code with the AI binding when a cron trigger fires, and logs the result. */
const WORKER = (code: string) => `
const CALLS = { run: async (AI) => { ${code} } };
export default {
  async scheduled(controller, env) {
    console.log(JSON.stringify(env.AI === undefined ? "undefined" : await CALLS.run(env.AI).catch((error) => [error.name, error.message])));
  },
};`;

describe("an AI binding", () => {
  let runtime: WorkerRuntime;
  let runtimeWithoutAi: WorkerRuntime;
  const records: Invocation[] = [];
  const upstreamRequests: { path: string; key: string | undefined; body: Record<string, unknown> }[] = [];
  const cleanups: (() => unknown)[] = [];
  before(async () => {
    const server = createServer((request: IncomingMessage, response) => {
      void json(request).then((sent) => {
        const body = sent as Record<string, unknown>;
        upstreamRequests.push({ path: request.url!, key: request.headers.authorization, body });
        if (body["model"] === "absent")
          return void response.writeHead(404).end('{"error":{"message":"no such model"}}');
        if (body["model"] === "broken") return void response.socket!.destroy();
        if (request.url === "/v1/embeddings") return void response.end('{"data":[{"embedding":[1,2]}]}');
        if (body["stream"] !== true) return void response.end('{"choices":[{"message":{"content":"hello"}}]}');
        response.write('data: {"choices":[{"delta":{"content":"he"}}]}\n\n');
        response.end('data: {"choices":[{"delta":{"content":"llo"}}]}\n\ndata: [DONE]\n\n');
      });
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`;
    const ai = createAiService({
      server: { url, key: "k", models: new Map([["@cf/llama", "llama"]]), allowsRemoteUrls: false },
      log: silentLog,
    });
    runtime = startRuntime({ services: { ...noServices, ai } });
    runtimeWithoutAi = startRuntime({
      services: { ...noServices, ai: createAiService({ server: undefined, log: silentLog }) },
    });
    for (const each of [runtime, runtimeWithoutAi]) each.onInvocation((record) => void records.push(record));
    cleanups.push(
      () => (server.closeAllConnections(), server.close()),
      () => runtime.close(),
      () => runtimeWithoutAi.close(),
    );
  });
  after(async () => {
    for (const end of cleanups.reverse()) await end();
  });

  async function run(code: string, on = runtime): Promise<unknown> {
    await on.deploy(scriptOf(WORKER(code), { bindings: [{ type: "ai", name: "AI" }] }));
    await on.scheduled("test", { cron: "", scheduledTime: new Date() });
    return JSON.parse(String(records.at(-1)!.logs[0]!.message[0])) as unknown;
  }

  it("generates text with the configured model and key", async () => {
    assert.deepEqual(await run(`return AI.run("@cf/llama", { prompt: "hi" });`), { response: "hello" });
    const { path, key, body } = upstreamRequests.at(-1)!;
    assert.deepEqual([path, key, body["model"]], ["/v1/chat/completions", "Bearer k", "llama"]);
  });

  it("streams text", async () => {
    const text = await run(`return new Response(await AI.run("m", { prompt: "hi", stream: true })).text();`);
    assert.equal(text, 'data: {"response":"he"}\n\ndata: {"response":"llo"}\n\ndata: [DONE]\n\n');
  });

  it("creates embeddings, and returns the Response object on request", async () => {
    assert.deepEqual(await run(`return AI.run("e", { text: "a" });`), { shape: [1, 2], data: [[1, 2]] });
    const raw = `const response = await AI.run("e", { text: "a" }, { returnRawResponse: true }); return [response.status, await response.json()];`;
    assert.deepEqual(await run(raw), [200, { shape: [1, 2], data: [[1, 2]] }]);
  });

  it("throws the errors of the AI server, and errors for unsupported calls", async () => {
    assert.deepEqual(await run(`return AI.run("absent", { prompt: "a" });`), [
      "InferenceUpstreamError",
      "5021: absent: no such model",
    ]);
    for (const [code, message] of [
      [`return AI.run("broken", { prompt: "a" });`, /^5022: The request to the AI server failed/],
      [`return AI.run("m", { image: [1] });`, /^5007: The inputs \["image"\] of m belong to a task/],
      [`return AI.run("m", { prompt: "a" }, { websocket: true });`, /option websocket of run\(\) is not supported/],
      [`return AI.toMarkdown([]);`, /env\.AI\.toMarkdown\(\) is not supported by this server/],
    ] as const)
      assert.match(((await run(code)) as string[])[1]!, message);
  });

  it("is undefined if no AI server is configured", async () => {
    assert.equal(await run("", runtimeWithoutAi), "undefined");
  });
});
