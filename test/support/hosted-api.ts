import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { publishedOpenApi } from "./published-openapi.ts";

interface Scope {
  after(stop: () => Promise<void>): void;
}

/** The result and `result_info` for the envelope, or a complete response. */
export type HostedReply =
  | { result: unknown; result_info?: object; status?: number }
  | { errors: { code: number; message: string }[]; status: number; headers?: Record<string, string> }
  | { raw: Uint8Array | string; status?: number; headers?: Record<string, string> };

interface HostedRequest {
  query: URLSearchParams;
  // oxlint-disable-next-line no-explicit-any
  json: any;
  headers: IncomingMessage["headers"];
}

export interface HostedApi {
  /** Ends in /client/v4. */
  url: string;
  origin: string;
  /** All requests, as `METHOD /path`. */
  seen: string[];
  /** Responses that violate the published API. */
  violations: string[];
}

/**
 * Starts a stand-in for the hosted service: `routes` by `METHOD /path`, without the query. Other requests get 404 with
 * code
 * 7003. Each response is validated against the published API, if its documents are available.
 */
export async function startHostedApi(
  scope: Scope,
  routes: (origin: string) => Record<string, HostedReply | ((request: HostedRequest) => HostedReply)>,
): Promise<HostedApi> {
  const published = publishedOpenApi();
  const hosted: HostedApi = { url: "", origin: "", seen: [], violations: [] };
  let table: ReturnType<typeof routes>;
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url!, "http://localhost");
    const path = pathname.replace(/^\/client\/v4/, "");
    const name = `${request.method} ${path}`;
    hosted.seen.push(name);
    // A client that is stopped does not send the whole request.
    const body = await buffer(request).catch(() => undefined);
    if (body === undefined) return;
    const route = table[name] ?? {
      status: 404,
      errors: [{ code: 7003, message: "Could not route to the path, perhaps your object identifier is invalid?" }],
    };
    const json = /json/.test(request.headers["content-type"] ?? "") ? (JSON.parse(body.toString()) as unknown) : {};
    const reply = typeof route === "function" ? route({ query: searchParams, json, headers: request.headers }) : route;
    if ("raw" in reply) return void response.writeHead(reply.status ?? 200, reply.headers).end(reply.raw);
    const envelope =
      "errors" in reply
        ? { success: false, errors: reply.errors, messages: [], result: null }
        : {
            success: true,
            errors: [],
            messages: [],
            result: reply.result,
            ...(reply.result_info !== undefined && { result_info: reply.result_info }),
          };
    const status = reply.status ?? 200;
    const problems = published?.problems(request.method!, path, status, envelope) ?? [];
    hosted.violations.push(...problems.map((problem) => `${name}: ${problem}`));
    response
      .writeHead(status, { "content-type": "application/json", ...("headers" in reply ? reply.headers : {}) })
      .end(JSON.stringify(envelope));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  scope.after(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  hosted.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  hosted.url = `${hosted.origin}/client/v4`;
  table = routes(hosted.origin);
  return hosted;
}

/** Returns one page of a list with numbered pages. */
export function numberedPage<Item>(items: readonly Item[], query: URLSearchParams, largest = 50): HostedReply {
  const page = Number(query.get("page") ?? 1);
  const size = Math.min(largest, Number(query.get("per_page") ?? 20));
  const result = items.slice((page - 1) * size, page * size);
  return {
    result,
    result_info: { page, per_page: size, count: result.length, total_count: items.length },
  };
}
