import { aiErrors } from "./errors.ts";
import { aiLimits } from "./limits.ts";
import { findRemoteUrl } from "./remote-urls.ts";

/** A call to `env.AI.run()`, converted to a request to an OpenAI-compatible server. */
export interface AiRequest {
  task: "text-generation" | "embeddings";
  /** Relative to the base URL of the server. */
  path: "/chat/completions" | "/embeddings";
  body: Record<string, unknown>;
  stream: boolean;
}

type AiInputs = Record<string, unknown>;

/** Input fields that have the same name and meaning on the server. */
const SHARED_FIELDS = [
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
/** The documented default for text generation. */
const DEFAULT_MAX_TOKENS = 256;

interface AiRequestOptions {
  /** Allows URLs in messages that the AI server fetches. Default: only `data:` URLs are allowed. */
  allowsRemoteUrls?: boolean;
}

/**
 * Converts a call to a request to the AI server. `name` is the model's name in the worker, `model` its name on the AI
 * server. Throws badInputs, unsupportedTask. https://developers.cloudflare.com/workers-ai/configuration/bindings/
 */
export function toAiRequest(
  name: string,
  model: string,
  inputs: unknown,
  { allowsRemoteUrls = false }: AiRequestOptions = {},
): AiRequest {
  const badInputs = (reason: string, fix: string) => aiErrors.badInputs({ model: name, reason, fix });
  if (typeof inputs !== "object" || inputs === null || Array.isArray(inputs))
    throw badInputs("they are not an object", 'Pass an object such as { prompt: "…" }.');
  const inputFields = inputs as AiInputs;
  if (inputFields["messages"] !== undefined || inputFields["prompt"] !== undefined)
    return textGenerationRequest(model, inputFields, { badInputs, allowsRemoteUrls });
  const { text, pooling: _pooling, ...otherFields } = inputFields;
  if (text !== undefined && Object.keys(otherFields).length === 0) return embeddingsRequest(model, text, badInputs);
  throw aiErrors.unsupportedTask({ model: name, fields: JSON.stringify(Object.keys(inputFields).slice(0, 20)) });
}

type CreateInputError = (reason: string, fix: string) => Error;

function textGenerationRequest(
  model: string,
  inputs: AiInputs,
  { badInputs, allowsRemoteUrls }: { badInputs: CreateInputError; allowsRemoteUrls: boolean },
): AiRequest {
  const { messages, prompt, stream = false, max_tokens = DEFAULT_MAX_TOKENS } = inputs;
  if (messages !== undefined && (!Array.isArray(messages) || messages.length === 0))
    throw badInputs("messages is not a list", 'Pass [{ role: "user", content: "…" }].');
  const remoteUrl = allowsRemoteUrls || messages === undefined ? undefined : findRemoteUrl(messages);
  if (remoteUrl !== undefined)
    throw badInputs(
      `messages contains the URL ${JSON.stringify(remoteUrl)}, which the AI server would fetch`,
      "Pass a data: URL. The operator can allow other URLs with workers.ai_remote_urls.",
    );
  if (messages === undefined && typeof prompt !== "string") throw badInputs("prompt is not a string", "Pass a string.");
  if (typeof stream !== "boolean") throw badInputs("stream is not a boolean", "Pass true or false.");
  return {
    task: "text-generation",
    path: "/chat/completions",
    stream,
    body: {
      model,
      messages: messages ?? [{ role: "user", content: prompt }],
      max_tokens,
      ...Object.fromEntries(
        SHARED_FIELDS.flatMap((field) => (inputs[field] === undefined ? [] : [[field, inputs[field]]])),
      ),
      ...(stream && { stream, stream_options: { include_usage: true } }),
    },
  };
}

function embeddingsRequest(model: string, text: unknown, badInputs: CreateInputError): AiRequest {
  const texts = Array.isArray(text) ? text : [text];
  if (texts.length === 0 || !texts.every((textItem) => typeof textItem === "string"))
    throw badInputs("text is not a string or a list of strings", "Pass a string or a list of strings.");
  if (texts.length > aiLimits.textsPerCall)
    throw badInputs(`text has ${texts.length} entries`, `Pass at most ${aiLimits.textsPerCall} texts per call.`);
  return { task: "embeddings", path: "/embeddings", stream: false, body: { model, input: texts } };
}
