import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { publishedOpenApi } from "../../test/support/published-openapi.ts";
import type { Caller } from "../accounts/index.ts";
import { HTTP_SERVER_OPTIONS, randomIds, silentLog, systemClock, type Clock, type Log } from "../kernel/index.ts";
import { createApiHandler } from "./api-handler.ts";
import { createApi } from "./app.ts";
import type { ChangeRecorderDeps } from "./change-recorder.ts";
import { API_BASE } from "./base.ts";
import type { Route } from "./operation.ts";
import type { AccessControl } from "./ports.ts";
import type { RateLimit } from "./rate-limit.ts";

export const TEST_ACCOUNT = "a".repeat(32);
export const TEST_ZONE = "b".repeat(32);
export const TEST_TOKEN = "test-token";
const TEST_USER = { id: "c".repeat(32), email: "admin@example.com" };

export const unrestrictedCaller: Caller = {
  tokenId: "d".repeat(32),
  user: TEST_USER,
  accounts: [TEST_ACCOUNT],
  allows: () => true,
};

export interface TestApiOptions {
  routes: Route[];
  /** The caller identified by TEST_TOKEN. Default: a caller with every permission. */
  caller?: Caller;
  /** Replaces functions of the default access control, which knows TEST_TOKEN, TEST_ACCOUNT and TEST_ZONE. */
  accessControl?: Partial<AccessControl>;
  clock?: Clock;
  log?: Log;
  rateLimit?: RateLimit;
  bodyMemory?: number;
  /** Default: changes are not recorded. */
  changes?: Omit<ChangeRecorderDeps, "routes">;
}

export interface TestResponse {
  status: number;
  headers: Headers;
  text: string;
  bytes: Buffer;
  /** The parsed JSON; `any`, because tests read arbitrary fields. */
  // oxlint-disable-next-line no-explicit-any
  body: any;
}

export interface TestApi {
  /** `http://127.0.0.1:<port>/client/v4` */
  url: string;
  /**
   * Sends a request. `path` is relative to /client/v4. Plain objects are sent as JSON; FormData, bytes, text and
   * streams are sent unchanged.
   */
  call(
    method: string,
    path: string,
    options?: { body?: unknown; headers?: Record<string, string>; query?: Record<string, string | number> },
  ): Promise<TestResponse>;
}

/**
 * Serves routes over real HTTP. Every response is validated against its route's schema and, if available, against the
 * published API.
 */
export async function startApi(
  scope: { after(end: () => Promise<void>): void },
  {
    routes,
    caller = unrestrictedCaller,
    accessControl,
    clock = systemClock,
    log = silentLog,
    rateLimit = { requests: 0, seconds: 1 },
    bodyMemory,
    changes,
  }: TestApiOptions,
): Promise<TestApi> {
  const app = createApi({
    routes,
    accessControl: {
      authenticate: async ({ secret }) => (secret === TEST_TOKEN ? caller : undefined),
      accountExists: async (id) => id === TEST_ACCOUNT,
      zoneAccount: async (id) => (id === TEST_ZONE ? TEST_ACCOUNT : undefined),
      ...accessControl,
    },
    clock,
    ids: randomIds,
    log,
    version: "0.0.0",
    rateLimit,
    ...(bodyMemory !== undefined && { bodyMemory }),
    ...(changes && { changes }),
    checkResponses: true,
  });
  const server = createServer(HTTP_SERVER_OPTIONS, createApiHandler(app));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  scope.after(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${API_BASE}`;

  return {
    url,
    async call(method, path, { body, headers = {}, query = {} } = {}) {
      const search = new URLSearchParams(
        Object.entries(query).map(([name, value]) => [name, String(value)]),
      ).toString();
      const response = await fetch(`${url}${path}${search === "" ? "" : `?${search}`}`, {
        method: method.toUpperCase(),
        headers: { authorization: `Bearer ${TEST_TOKEN}`, ...headers },
        ...(body !== undefined && { body: encode(body), duplex: "half" }),
      } as RequestInit);
      const bytes = Buffer.from(await response.arrayBuffer());
      const text = bytes.toString();
      const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
      const parsed: unknown = isJson ? JSON.parse(text) : undefined;
      if (isJson) checkPublished(method, path.split("?")[0]!, response.status, parsed);
      return { status: response.status, headers: response.headers, text, bytes, body: parsed };
    },
  };
}

function checkPublished(method: string, path: string, status: number, body: unknown): void {
  const problems = publishedOpenApi()?.problems(method, path, status, body) ?? [];
  assert.deepEqual(
    problems,
    [],
    `${method} ${path} ${status} does not match the published schema: ${JSON.stringify(body, null, 1).slice(0, 3000)}`,
  );
}

type Sendable = NonNullable<RequestInit["body"]>;
const encode = (body: unknown): Sendable =>
  typeof body === "string" || body instanceof FormData || body instanceof Uint8Array || body instanceof ReadableStream
    ? (body as Sendable)
    : JSON.stringify(body);
