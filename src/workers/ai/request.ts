import { aiErrors } from "./errors.ts";
import { aiLimits } from "./limits.ts";

/** A call of `env.AI.run()` as a request to an OpenAI-compatible server. */
export interface AiRequest {
  task: "text-generation" | "embeddings";
  /** Relative to the URL of the server. */
  path: "/chat/completions" | "/embeddings";
  body: Record<string, unknown>;
  stream: boolean;
}

type Inputs = Record<string, unknown>;

/** Fields with the same meaning on both sides. */
const SHARED = [
  "temperature",
  "top_p",
  "top_k",
  "seed",
  "stop",
  "frequency_penalty",
  "presence_penalty",
  "response_format",
  "tools",
  "tool_choice",
];
/** The published default of text generation. */
const MAX_TOKENS = 256;

/**
 * `model`: as the server names it. Throws badInputs, unsupportedTask.
 * https://developers.cloudflare.com/workers-ai/configuration/bindings/
 */
export function aiRequest(name: string, model: string, inputs: unknown): AiRequest {
  const bad = (reason: string, fix: string) => aiErrors.badInputs({ model: name, reason, fix });
  if (typeof inputs !== "object" || inputs === null || Array.isArray(inputs))
    throw bad("they are not an object", 'Pass an object such as { prompt: "…" }.');
  const given = inputs as Inputs;
  if (given["messages"] !== undefined || given["prompt"] !== undefined) return generation(model, given, bad);
  const { text, pooling: _pooling, ...more } = given;
  if (text !== undefined && Object.keys(more).length === 0) return embeddings(model, text, bad);
  throw aiErrors.unsupportedTask({ model: name, fields: JSON.stringify(Object.keys(given).slice(0, 20)) });
}

type Refuse = (reason: string, fix: string) => Error;

function generation(model: string, inputs: Inputs, bad: Refuse): AiRequest {
  const { messages, prompt, stream = false, max_tokens = MAX_TOKENS } = inputs;
  if (messages !== undefined && (!Array.isArray(messages) || messages.length === 0))
    throw bad("messages is not a list", 'Pass [{ role: "user", content: "…" }].');
  if (messages === undefined && typeof prompt !== "string") throw bad("prompt is not a string", "Pass a string.");
  if (typeof stream !== "boolean") throw bad("stream is not a boolean", "Pass true or false.");
  return {
    task: "text-generation",
    path: "/chat/completions",
    stream,
    body: {
      model,
      messages: messages ?? [{ role: "user", content: prompt }],
      max_tokens,
      ...Object.fromEntries(SHARED.flatMap((field) => (inputs[field] === undefined ? [] : [[field, inputs[field]]]))),
      ...(stream && { stream, stream_options: { include_usage: true } }),
    },
  };
}

function embeddings(model: string, text: unknown, bad: Refuse): AiRequest {
  const texts = Array.isArray(text) ? text : [text];
  if (texts.length === 0 || !texts.every((each) => typeof each === "string"))
    throw bad("text is not a string or a list of strings", "Pass a string, or several in a list.");
  if (texts.length > aiLimits.texts)
    throw bad(`text has ${texts.length} entries`, `Pass at most ${aiLimits.texts} in one call.`);
  return { task: "embeddings", path: "/embeddings", stream: false, body: { model, input: texts } };
}
