import { findRemoteUrl } from "../remote-urls.ts";
import { toAiRequest, type AiRequest } from "../request.ts";
import type { AiServer } from "../server.ts";
import { aiGatewayErrors } from "./errors.ts";
import { COMPAT, providerServer, WORKERS_AI, type AiProviders } from "./providers.ts";

/** One request of a client, before it is addressed to a server. */
export interface GatewayStep {
  provider: string;
  /** Path and query relative to the provider, without a leading slash. A model name for native Workers AI requests. */
  endpoint: string;
  method: string;
  headers: Headers;
  body: Uint8Array;
}

/** A request to the server of a provider. */
export interface UpstreamRequest {
  provider: string;
  model: string;
  /** Relative to the server, for the log. */
  path: string;
  url: string;
  method: string;
  headers: Record<string, string>;
  body: Uint8Array | undefined;
  /** True if the client sent a key of its own for the provider. */
  hasOwnKey: boolean;
  /** Present if the client called a model in the format of Workers AI: the response needs to be converted. */
  native?: AiRequest;
}

/** Headers that may contain a key for the provider. */
const KEY_HEADERS = ["authorization", "x-api-key", "api-key"];

/** Headers of the client that the provider receives. All others, such as cookies and addresses, stay here. */
const FORWARDED_HEADERS = [
  ...KEY_HEADERS,
  "accept",
  "content-type",
  "user-agent",
  "idempotency-key",
  "anthropic-version",
  "anthropic-beta",
  "openai-organization",
  "openai-project",
  "openai-beta",
];

/**
 * Endpoints that run a model. Others read or change what the owner of the key has stored at the provider, such as
 * files, fine-tuned models and earlier responses.
 */
const MODEL_ENDPOINTS = [
  "chat/completions",
  "completions",
  "embeddings",
  "responses",
  "messages",
  "moderations",
  "rerank",
  "images/generations",
  "audio/speech",
  "audio/transcriptions",
  "audio/translations",
];

/** Addresses a request to the server of its provider. Throws notConfigured, unknownProvider, badRequest, badInputs. */
export function upstreamRequest(step: GatewayStep, providers: AiProviders): UpstreamRequest {
  const body = parseObject(step);
  return step.provider === COMPAT ? compatRequest(step, body, providers) : providerRequest(step, body, providers);
}

type JsonObject = Record<string, unknown>;

/** Returns the body if it is a JSON object. */
function parseObject({ body }: GatewayStep): JsonObject | undefined {
  if (body.length === 0) return undefined;
  try {
    const value = JSON.parse(Buffer.from(body).toString("utf8")) as unknown;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the request for the OpenAI-compatible endpoint: `provider/model` in the body selects the server. */
function compatRequest(step: GatewayStep, body: JsonObject | undefined, providers: AiProviders): UpstreamRequest {
  const model = body?.["model"];
  const separator = typeof model === "string" ? model.indexOf("/") : -1;
  if (typeof model !== "string" || separator < 1)
    throw aiGatewayErrors.badRequest({
      reason: `the model ${JSON.stringify(model)?.slice(0, 200)} does not name its provider`,
      fix: 'Set "model" to provider/model, such as workers-ai/@cf/meta/llama-3.1-8b-instruct.',
    });
  const changed = { ...body, model: model.slice(separator + 1) };
  const target = { ...step, provider: model.slice(0, separator), body: Buffer.from(JSON.stringify(changed)) };
  return addressed(target, changed, providerServer(providers, target.provider));
}

function providerRequest(step: GatewayStep, body: JsonObject | undefined, providers: AiProviders): UpstreamRequest {
  const server = providerServer(providers, step.provider);
  if (step.provider !== WORKERS_AI) return addressed(step, body, server);
  // Workers AI has its OpenAI-compatible endpoints below v1/; anything else is a model name.
  const compatible = /^v1\/(.*)$/.exec(step.endpoint)?.[1];
  if (compatible !== undefined) return addressed({ ...step, endpoint: compatible }, body, server);
  const model = decode(step.endpoint.split("?")[0]!);
  const native = toAiRequest(model, model, body, server);
  const converted = { ...step, endpoint: native.path.slice(1), body: Buffer.from(JSON.stringify(native.body)) };
  return { ...addressed(converted, native.body, server), path: model, native };
}

function addressed(step: GatewayStep, body: JsonObject | undefined, server: AiServer): UpstreamRequest {
  const { provider, endpoint, method, headers: clientHeaders } = step;
  const model = typeof body?.["model"] === "string" ? body["model"] : "";
  const renamed = server.models.get(model);
  const headers: Record<string, string> = {};
  for (const name of FORWARDED_HEADERS) {
    const value = clientHeaders.get(name);
    if (value !== null) headers[name] = value;
  }
  const hasOwnKey = KEY_HEADERS.some((name) => headers[name] !== undefined);
  const url = endpointUrl(server.url, endpoint);
  if (!hasOwnKey || provider === WORKERS_AI) checkEndpoint(method, url, server);
  if (!server.allowsRemoteUrls) checkRemoteUrls(body);
  if (!hasOwnKey && server.key !== "") headers["authorization"] = `Bearer ${server.key}`;
  const sentBody = renamed === undefined ? step.body : Buffer.from(JSON.stringify({ ...body, model: renamed }));
  return {
    provider,
    model,
    path: endpoint.split("?")[0]!,
    url,
    method,
    headers,
    body: method === "GET" ? undefined : sentBody,
    hasOwnKey,
  };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Throws badRequest unless the request runs a model or lists models. */
function checkEndpoint(method: string, url: string, server: AiServer): void {
  const endpoint = new URL(url).pathname.slice(new URL(`${server.url}/`).pathname.length);
  const isAllowed = method === "GET" ? /^models(\/|$)/.test(endpoint) : MODEL_ENDPOINTS.includes(endpoint);
  if (isAllowed) return;
  throw aiGatewayErrors.badRequest({
    reason: `${method} ${endpoint.slice(0, 200)} does not run a model`,
    fix: `Use one of ${MODEL_ENDPOINTS.join(", ")}, or send a key of your own for the provider.`,
  });
}

/** Throws badRequest for a URL that the provider's server would fetch. */
function checkRemoteUrls(body: JsonObject | undefined): void {
  const remoteUrl = findRemoteUrl([body?.["messages"], body?.["input"]].flat());
  if (remoteUrl === undefined) return;
  throw aiGatewayErrors.badRequest({
    reason: `it contains the URL ${JSON.stringify(remoteUrl)}, which the server of the provider would fetch`,
    fix: "Pass a data: URL. The operator can allow other URLs with workers.ai_remote_urls.",
  });
}

/** Throws badRequest for an endpoint that leaves the path of the server, such as `../admin`. */
function endpointUrl(base: string, endpoint: string): string {
  const { href } = new URL(`${base}/${endpoint}`);
  if (href.startsWith(`${new URL(base).href.replace(/\/+$/, "")}/`)) return href;
  throw aiGatewayErrors.badRequest({
    reason: `the endpoint ${JSON.stringify(endpoint.slice(0, 200))} is not below the URL of the provider`,
    fix: "Use a path such as chat/completions.",
  });
}
