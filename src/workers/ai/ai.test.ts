import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toAiResponse, aiErrorText } from "./response.ts";
import { toAiRequest } from "./request.ts";
import { aiStream } from "./stream.ts";

describe("the inputs of env.AI.run()", () => {
  test("for text generation are converted to a chat completion request", () => {
    assert.deepEqual(toAiRequest("@cf/m", "m", { prompt: "hi", temperature: 0.5, raw: true }), {
      task: "text-generation",
      path: "/chat/completions",
      stream: false,
      body: { model: "m", messages: [{ role: "user", content: "hi" }], max_tokens: 256, temperature: 0.5 },
    });
    const messages = [{ role: "system", content: "s" }];
    const { body, stream } = toAiRequest("m", "m", { messages, stream: true, max_tokens: 9 });
    assert.equal(stream, true);
    assert.deepEqual(body, {
      model: "m",
      messages,
      max_tokens: 9,
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  test("with only `text` are converted to an embeddings request", () => {
    for (const text of ["a", ["a"]])
      assert.deepEqual(toAiRequest("m", "m", { text }).body, { model: "m", input: ["a"] });
  });

  test("may contain only data: URLs, unless the operator allows others", () => {
    const messagesOf = (part: unknown) => ({
      messages: [{ role: "user", content: [{ type: "text", text: "https://" }, part] }],
    });
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    assert.deepEqual(toAiRequest("m", "m", messagesOf(image)).body["messages"], messagesOf(image).messages);
    for (const part of [
      { type: "image_url", image_url: { url: "http://169.254.169.254/latest/meta-data" } },
      { image_url: "https://example.com/a.png" },
      { type: "input_image", image_url: "file:///etc/passwd" },
      { type: "image_url", image_url: { url: "/etc/passwd" } },
      { type: "video_url", video_url: { url: " HTTP://127.0.0.1/" } },
      { type: "image", image: "http://127.0.0.1/" },
      { type: "tool_result", content: [{ type: "image", source: { type: "url", url: "//127.0.0.1/" } }] },
    ]) {
      assert.throws(() => toAiRequest("m", "m", messagesOf(part)), { code: 5006 }, JSON.stringify(part));
      assert.ok(toAiRequest("m", "m", messagesOf(part), { allowsRemoteUrls: true }));
    }
    assert.throws(() => toAiRequest("m", "m", { messages: [{ role: "user", content: "", images: ["http://a/"] }] }), {
      message: 'The inputs of m are invalid: messages contains the URL "http://a/", which the AI server would fetch',
      fix: "Pass a data: URL. The operator can allow other URLs with workers.ai_remote_urls.",
    });
    const tools = [{ role: "assistant", content: null, tool_calls: [{ id: "call:1", function: { arguments: "{}" } }] }];
    assert.ok(toAiRequest("m", "m", { messages: [...tools, { role: "user", content: "see http://a/" }] }));
  });

  test("are rejected if they are invalid or belong to an unsupported task", () => {
    for (const inputs of [undefined, null, "text", [], { prompt: 1 }, { messages: [] }, { prompt: "a", stream: "yes" }])
      assert.throws(() => toAiRequest("m", "m", inputs), { code: 5006 }, JSON.stringify(inputs));
    for (const text of [1, [], ["a", 2], Array.from({ length: 101 }, () => "a")])
      assert.throws(() => toAiRequest("m", "m", { text }), { code: 5006 });
    for (const inputs of [{}, { text: "a", source_lang: "en" }, { image: [1] }, { audio: [] }])
      assert.throws(() => toAiRequest("m", "m", inputs), { code: 5007 }, JSON.stringify(inputs));
  });
});

describe("the response of the AI server", () => {
  test("for text generation is converted with its text, tool calls and usage", () => {
    const usage = { total_tokens: 3 };
    assert.deepEqual(toAiResponse("text-generation", { choices: [{ message: { content: "hi" } }], usage }), {
      response: "hi",
      usage,
    });
    const tool_calls = [
      { id: "1", function: { name: "f", arguments: '{"a":1}' } },
      { function: { name: "g", arguments: "{" } },
    ];
    assert.deepEqual(toAiResponse("text-generation", { choices: [{ message: { content: null, tool_calls } }] }), {
      response: null,
      tool_calls: [
        { id: "1", name: "f", arguments: { a: 1 } },
        { name: "g", arguments: "{" },
      ],
    });
  });

  test("for embeddings is converted to vectors in the order of the texts", () => {
    const data = [
      { index: 1, embedding: [3, 4] },
      { index: 0, embedding: [1, 2] },
    ];
    const expected = [
      [1, 2],
      [3, 4],
    ];
    assert.deepEqual(toAiResponse("embeddings", { data }), { shape: [2, 2], data: expected });
  });

  test("is rejected if it has an unexpected format, and errors contain its message", () => {
    for (const body of [undefined, null, "x", {}, { choices: [] }])
      for (const task of ["embeddings", "text-generation"] as const) assert.equal(toAiResponse(task, body), undefined);
    assert.equal(aiErrorText({ error: { message: "no model" } }, 404), "no model");
    assert.equal(aiErrorText({ error: "no model" }, 404), "no model");
    assert.equal(aiErrorText("<html>", 502), "the AI server responded with status 502");
  });

  test("is converted while it is streamed, regardless of chunk boundaries", async () => {
    const event = (content: string) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\r\n\r\n`;
    const bytes = new TextEncoder().encode(
      `: comment\n\n${event("é")}${event("b")}data: {"choices":[],"usage":{"total_tokens":3}}\n\ndata: {oops\n\ndata: [DONE]\n\nignored`,
    );
    const expected =
      'data: {"response":"é"}\n\ndata: {"response":"b"}\n\ndata: {"response":"","usage":{"total_tokens":3}}\n\ndata: [DONE]\n\n';
    for (const size of [1, 2, 7, bytes.length]) {
      const chunks = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.slice(i * size, (i + 1) * size),
      );
      let text = "";
      for await (const part of aiStream(
        (async function* () {
          yield* chunks;
        })(),
      ))
        text += part;
      assert.equal(text, expected);
    }
  });
});
