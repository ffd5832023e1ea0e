import { setTimeout as sleep } from "node:timers/promises";
import { UserError, messageOf } from "../../kernel/index.ts";
import { oneLine } from "../../kernel/text.ts";
import { connectionErrors, refusal, type ErrorItem } from "./errors.ts";

export interface ApiRequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON. */
  json?: unknown;
  /** Any other body. Called once per attempt, so that a stream can be sent again. */
  body?: () => SentBody | Promise<SentBody>;
  headers?: Record<string, string>;
  /** Time limit for the complete response. Default 60 s; null for requests without a limit. */
  timeoutMs?: number | null;
}

export type SentBody = NonNullable<RequestInit["body"]> | { stream: AsyncIterable<Uint8Array>; size?: number };

interface Envelope<Result> {
  result: Result;
  result_info?: Record<string, unknown> | null;
  messages?: { code?: number; message: string }[];
}

/** Client for a server's v4 REST API. Every error response is thrown as a UserError with the server's code and text. */
export interface ApiClient {
  /** Ends in /client/v4. */
  readonly url: string;
  /** `path` is relative to `url`. */
  envelope<Result>(method: string, path: string, request?: ApiRequestOptions): Promise<Envelope<Result>>;
  result<Result>(method: string, path: string, request?: ApiRequestOptions): Promise<Result>;
  /** Resolves with a successful response without an envelope. The caller reads its body. */
  raw(method: string, path: string, request?: ApiRequestOptions): Promise<Response>;
}

export interface ApiOptions {
  url: string;
  token: string;
  version: string;
  /** Called before a wait that the server requested. */
  onWait?: (seconds: number) => void;
  /** Waits for the given time; replaced in tests. */
  pause?: (ms: number) => Promise<unknown>;
  /** Maximum number of attempts, including the first one. Default 5. */
  maxAttempts?: number;
  /** Sends the requests. Default: over HTTP. */
  fetch?: typeof globalThis.fetch;
  /** A longer Retry-After is reported as an error, without waiting. Default 60. */
  maxWaitSeconds?: number;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const MAX_RESPONSE_BYTES = 256 * 1024 * 1024;
const MAX_ATTEMPTS = 5;
const MAX_WAIT_SECONDS = 60;

/** Retries only requests that the server did not start: 429 and 503. */
export function createApiClient({
  url,
  token,
  version,
  onWait = () => {},
  pause = sleep,
  maxAttempts = MAX_ATTEMPTS,
  maxWaitSeconds = MAX_WAIT_SECONDS,
  fetch = globalThis.fetch,
}: ApiOptions): ApiClient {
  async function raw(method: string, path: string, request: ApiRequestOptions = {}): Promise<Response> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS } = request;
    const what = `${method} ${path}`;
    for (let attempt = 1; ; attempt++) {
      const response = await send(method, path, request).catch((thrown: unknown) => {
        if (thrown instanceof UserError) throw thrown;
        throw isTimeout(thrown)
          ? connectionErrors.timedOut({ what, seconds: (timeoutMs ?? 0) / 1000 })
          : connectionErrors.unreachable(
              { url, origin: new URL(url).origin, reason: reasonOf(thrown) },
              { cause: thrown },
            );
      });
      if (response.ok) return response;
      const wait = secondsToWait(response, attempt, maxWaitSeconds);
      if (wait === undefined || attempt === maxAttempts) throw await refusalOf(response, what);
      await response.body?.cancel();
      onWait(wait);
      await pause(wait * 1000);
    }
  }

  async function send(
    method: string,
    path: string,
    { query = {}, json, body, headers, timeoutMs = DEFAULT_TIMEOUT_MS }: ApiRequestOptions,
  ): Promise<Response> {
    const address = new URL(`${url}${path}`);
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) address.searchParams.set(name, String(value));
    const requestBody = await body?.();
    const streamedBody = requestBody !== undefined && isStreamed(requestBody) ? requestBody : undefined;
    return fetch(address, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        "user-agent": `reelpost/${version}`,
        ...(json !== undefined && { "content-type": "application/json" }),
        ...(streamedBody?.size !== undefined && { "content-length": String(streamedBody.size) }),
        ...headers,
      },
      redirect: "error",
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(requestBody !== undefined && {
        body: (streamedBody?.stream ?? requestBody) as NonNullable<RequestInit["body"]>,
      }),
      ...(streamedBody !== undefined && { duplex: "half" }),
      ...(timeoutMs !== null && { signal: AbortSignal.timeout(timeoutMs) }),
    });
  }

  async function envelope<Result>(
    method: string,
    path: string,
    request?: ApiRequestOptions,
  ): Promise<Envelope<Result>> {
    const response = await raw(method, path, request);
    const what = `${method} ${path}`;
    const text = await readText(response, what);
    const parsed = parseEnvelope(text);
    if (parsed === undefined) throw connectionErrors.notTheApi({ what, status: response.status, text: excerpt(text) });
    if (parsed.success !== true) throw refusal(parsed.errors ?? [], response.status);
    return parsed as unknown as Envelope<Result>;
  }

  return {
    url,
    raw,
    envelope,
    result: async <Result>(method: string, path: string, request?: ApiRequestOptions) =>
      (await envelope<Result>(method, path, request)).result,
  };
}

const isStreamed = (requestBody: SentBody): requestBody is { stream: AsyncIterable<Uint8Array>; size?: number } =>
  typeof requestBody === "object" && "stream" in requestBody && typeof requestBody.stream !== "function";
const isTimeout = (thrown: unknown) => thrown instanceof DOMException && thrown.name === "TimeoutError";

/** The message `fetch failed` is uninformative; the cause has the details. */
function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
  const { code } = cause as { code?: string };
  if (code === "ECONNREFUSED") return "connection refused";
  if (code === "ENOTFOUND") return "host name not found";
  return oneLine(messageOf(cause) || code || "the connection failed");
}

function secondsToWait(response: Response, attempt: number, maxWaitSeconds: number): number | undefined {
  if (response.status !== 429 && response.status !== 503) return undefined;
  const header = response.headers.get("retry-after");
  const retryAfter =
    header === null ? NaN : /^\d+$/.test(header.trim()) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  const wait = Number.isNaN(retryAfter) ? 2 ** (attempt - 1) : Math.max(0, retryAfter);
  return wait > maxWaitSeconds ? undefined : wait;
}

async function refusalOf(response: Response, what: string) {
  const text = await readText(response, what);
  const parsed = parseEnvelope(text);
  if (parsed?.errors === undefined)
    return connectionErrors.notTheApi({ what, status: response.status, text: excerpt(text) });
  return refusal(parsed.errors, response.status);
}

const excerpt = (text: string) => oneLine(text.trim() === "" ? "(nothing)" : text.trim(), 200);

async function readText(response: Response, what: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.length;
      if (size > MAX_RESPONSE_BYTES) throw new Error(`it is longer than ${MAX_RESPONSE_BYTES} bytes`);
      chunks.push(chunk);
    }
  } catch (cause) {
    throw connectionErrors.broken({ what, reason: reasonOf(cause) }, { cause });
  }
  return Buffer.concat(chunks).toString();
}

function parseEnvelope(text: string): { success?: unknown; errors?: ErrorItem[] } | undefined {
  try {
    const parsed = JSON.parse(text) as unknown;
    if (typeof parsed !== "object" || parsed === null || !("success" in parsed)) return undefined;
    const { errors } = parsed as { errors?: unknown };
    return { ...parsed, errors: Array.isArray(errors) ? (errors as ErrorItem[]) : [] };
  } catch {
    return undefined;
  }
}
