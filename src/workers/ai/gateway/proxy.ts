import { createHash } from "node:crypto";
import { messageOf, UserError, type Clock, type Ids, type Log } from "../../../kernel/index.ts";
import { aiLimits } from "../limits.ts";
import type { AiRequest } from "../request.ts";
import { createResponseTimeout } from "../response-timeout.ts";
import { aiGatewayErrors } from "./errors.ts";
import { aiGatewayLimits } from "./limits.ts";
import { gatewayOptions, type GatewayOptions } from "./options.ts";
import type { AiGateway, AiGatewayLog, AiGateways } from "./port.ts";
import { providerServer, WORKERS_AI, type AiProviders } from "./providers.ts";
import { createGatewayRateLimits } from "./rate-limits.ts";
import { createResponseRecord, headOf, type ResponseRecord } from "./record.ts";
import { upstreamRequest, type GatewayStep, type UpstreamRequest } from "./step.ts";

/** A call of a gateway. */
interface GatewayCall {
  gateway: AiGateway;
  /** One request, or a request and its fallbacks: the next one is sent if the provider responds with an error. */
  steps: GatewayStep[];
  /**
   * True if the caller may use the operator's servers and keys: a worker, or a token with the permission AI Gateway
   * Run.
   */
  isAuthenticated: boolean;
  /** Aborted when the client disconnects. */
  signal: AbortSignal;
}

export interface GatewayResponse {
  status: number;
  /** The content type, and the `cf-aig-*` headers. */
  headers: Record<string, string>;
  /** It ends after the log is stored. */
  body: AsyncIterable<Uint8Array>;
  /** Present if the client called a model in the format of Workers AI; `body` is not converted yet. */
  native?: AiRequest;
}

export interface AiGatewayProxy {
  /**
   * Calls a gateway, and calls `respond` with the response. Throws unauthorized, rateLimited, notConfigured,
   * unknownProvider, badRequest, unreachable, tooManyCalls, and the badInputs and unsupportedTask of Workers AI.
   */
  call(call: GatewayCall, respond: (response: GatewayResponse) => Promise<void>): Promise<void>;
}

interface ProxyDeps {
  providers: AiProviders;
  gateways: Pick<AiGateways, "addLog" | "cached" | "cache">;
  clock: Clock;
  ids: Ids;
  log: Log;
}

/** An attempt to answer a call with one of its steps. */
interface Attempt {
  gateway: AiGateway;
  request: UpstreamRequest;
  options: GatewayOptions;
  step: number;
  /** Id of its log. */
  id: string;
  startedAt: number;
}

export function createAiGatewayProxy({ providers, gateways, clock, ids, log }: ProxyDeps): AiGatewayProxy {
  const rateLimits = createGatewayRateLimits(clock);
  let runningCalls = 0;

  async function tryStep(
    { gateway, steps, isAuthenticated, signal }: GatewayCall,
    step: number,
    respond: (response: GatewayResponse) => Promise<void>,
  ): Promise<"answered" | "failed"> {
    const request = upstreamRequest(steps[step]!, providers);
    // Unauthenticated callers must not use the operator's servers and keys, even if the gateway needs no
    // authentication.
    if (!isAuthenticated && (request.provider === WORKERS_AI || !request.hasOwnKey))
      throw aiGatewayErrors.unauthorized();
    const options = gatewayOptions(steps[step]!.headers);
    const attempt = { gateway, request, options, step, id: ids.hex(), startedAt: clock.now() };
    const ttl = options.skipCache || request.method !== "POST" ? 0 : (options.cacheTtl ?? gateway.cacheTtl);
    const cacheKey = ttl > 0 ? cacheKeyOf(request, options) : undefined;
    const cached = cacheKey === undefined ? undefined : await gateways.cached(gateway, cacheKey);
    if (cached !== undefined) {
      const body = recorded(attempt, cached.status, cached.contentType, [cached.body], async () => {}, true);
      await respond(responseOf(attempt, cached.status, cached.contentType, body, "HIT"));
      return "answered";
    }
    const timeout = createResponseTimeout(Math.min(options.timeoutMs ?? Infinity, aiLimits.responseMs));
    signal.addEventListener("abort", timeout.end, { once: true });
    try {
      const upstream = await send(attempt, timeout.signal);
      const contentType = upstream.headers.get("content-type") ?? "application/octet-stream";
      if (!upstream.ok && step + 1 < steps.length) {
        await upstream.body?.cancel();
        await addLog(attempt, upstream.status, contentType, createResponseRecord(), { cached: false, success: false });
        return "failed";
      }
      const store = async (record: ResponseRecord) => {
        const body = upstream.ok && cacheKey !== undefined ? record.whole() : undefined;
        if (body !== undefined)
          await gateways.cache(gateway, cacheKey!, { status: upstream.status, contentType, body }, ttl);
      };
      const chunks = renewing(upstream.body ?? [], timeout.renew);
      const body = recorded(attempt, upstream.status, contentType, chunks, store, false);
      await respond(
        responseOf(attempt, upstream.status, contentType, body, cacheKey === undefined ? undefined : "MISS"),
      );
      return "answered";
    } finally {
      signal.removeEventListener("abort", timeout.end);
      timeout.end();
    }
  }

  async function send({ request, gateway, startedAt, ...attempt }: Attempt, signal: AbortSignal): Promise<Response> {
    const { url, method, headers, body, provider } = request;
    try {
      return await fetch(url, {
        method,
        headers,
        redirect: "error",
        signal,
        ...(body !== undefined && { body: body as RequestInit["body"] }),
      });
    } catch (err) {
      log.warn({ err, gateway: gateway.id, provider }, `ai gateway: request to the provider failed: ${messageOf(err)}`);
      const whole = { request, gateway, startedAt, ...attempt };
      const error = aiGatewayErrors.unreachable({ provider, reason: messageOf(err) });
      await addLog(whole, error.entry.http, "", createResponseRecord(), { cached: false, success: false });
      throw error;
    }
  }

  /** Passes the chunks on. Before the end, stores the response in the cache and in the log. */
  async function* recorded(
    attempt: Attempt,
    status: number,
    contentType: string,
    chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    store: (record: ResponseRecord) => Promise<void>,
    cached: boolean,
  ): AsyncGenerator<Uint8Array> {
    const record = createResponseRecord();
    let isComplete = false;
    try {
      for await (const chunk of chunks) {
        record.add(chunk);
        yield chunk;
      }
      isComplete = true;
    } finally {
      // A reader of events stops at the last one, before the end of the response.
      isComplete ||= record.hasLastEvent();
      if (isComplete)
        await store(record).catch((err: unknown) =>
          log.error({ err, gateway: attempt.gateway.id }, `ai gateway: failed to cache a response: ${messageOf(err)}`),
        );
      await addLog(attempt, status, contentType, record, { cached, success: isComplete && status < 400 });
    }
  }

  async function addLog(
    { gateway, request, options, step, id, startedAt }: Attempt,
    status: number,
    contentType: string,
    record: ResponseRecord,
    { cached, success }: { cached: boolean; success: boolean },
  ): Promise<void> {
    if (!(options.collectLog ?? gateway.collectLogs)) return;
    const requestBody = request.body ?? new Uint8Array();
    const [requestHead, responseHead] = [headOf(requestBody), record.head()];
    const tokens = record.tokens();
    const entry: AiGatewayLog = {
      id,
      createdAt: new Date(startedAt),
      provider: request.provider,
      model: request.model,
      path: request.path,
      duration: Math.max(0, clock.now() - startedAt),
      status,
      success,
      cached,
      tokensIn: tokens.in,
      tokensOut: tokens.out,
      requestType: request.headers["content-type"] ?? "",
      requestSize: requestBody.length,
      responseType: contentType,
      responseSize: record.size,
      requestHead: requestHead.text,
      requestComplete: requestHead.isComplete,
      responseHead: responseHead.text,
      responseComplete: responseHead.isComplete,
      step,
      metadata: options.metadata,
      feedback: null,
      score: null,
    };
    await gateways
      .addLog(gateway, entry)
      .catch((err: unknown) =>
        log.error({ err, gateway: gateway.id }, `ai gateway: failed to store a log: ${messageOf(err)}`),
      );
  }

  async function trySteps(call: GatewayCall, respond: (response: GatewayResponse) => Promise<void>): Promise<void> {
    for (let step = 0; step < call.steps.length; step++) {
      try {
        if ((await tryStep(call, step, respond)) === "answered") return;
      } catch (err) {
        const isUnreachable = err instanceof UserError && err.kind === "unreachable";
        if (!isUnreachable || step + 1 === call.steps.length) throw err;
      }
    }
  }

  return {
    async call(call, respond) {
      const { gateway, steps, isAuthenticated } = call;
      if (gateway.authentication && !isAuthenticated) throw aiGatewayErrors.unauthorized();
      checkSteps(steps);
      // A request to an unknown provider does not count.
      for (const { provider } of steps) if (provider !== "compat") providerServer(providers, provider);
      if (!rateLimits.count(gateway)) throw aiGatewayErrors.rateLimited();
      if (runningCalls >= aiLimits.concurrentCalls) throw aiGatewayErrors.tooManyCalls();
      runningCalls++;
      await trySteps(call, respond).finally(() => runningCalls--);
    },
  };
}

function checkSteps(steps: readonly GatewayStep[]): void {
  if (steps.length > 0 && steps.length <= aiGatewayLimits.steps) return;
  throw aiGatewayErrors.badRequest({
    reason: `it consists of ${steps.length} requests`,
    fix: `Send 1 to ${aiGatewayLimits.steps} requests.`,
  });
}

/** Clients with different keys do not share responses, unless the client sets the cache key. */
function cacheKeyOf({ provider, url, headers, body }: UpstreamRequest, { cacheKey }: GatewayOptions): string {
  const hash = createHash("sha256");
  const keys = ["authorization", "x-api-key", "api-key", "accept"].map((name) => headers[name] ?? "");
  hash.update(
    JSON.stringify(cacheKey === undefined ? [provider, url, ...keys] : ["custom", provider, cacheKey, ...keys]),
  );
  if (cacheKey === undefined) hash.update(body ?? "");
  return hash.digest("hex");
}

function responseOf(
  { id, step, request: { native } }: Attempt,
  status: number,
  contentType: string,
  body: AsyncIterable<Uint8Array>,
  cacheStatus: "HIT" | "MISS" | undefined,
): GatewayResponse {
  return {
    status,
    headers: {
      "content-type": contentType,
      "cf-aig-log-id": id,
      "cf-aig-step": String(step),
      ...(cacheStatus !== undefined && { "cf-aig-cache-status": cacheStatus }),
    },
    body,
    ...(native !== undefined && { native }),
  };
}

async function* renewing(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  renew: () => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    renew();
    yield chunk;
  }
}
