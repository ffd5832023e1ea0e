import type { IncomingMessage, ServerResponse } from "node:http";
import { UserError } from "../../kernel/index.ts";
import { ANALYTICS_QUERY_BYTES, type Analytics } from "../../workers/index.ts";
import { ClientGone, dropRest } from "./body.ts";

/**
 * Path of the Analytics Engine SQL API, as on the platform. Any account id is accepted: development has no accounts.
 */
const SQL_PATH = /^\/client\/v4\/accounts\/[^/?]+\/analytics_engine\/sql(?:\?|$)/;

export const isAnalyticsSql = (url: string): boolean => SQL_PATH.test(url);

/** Answers a query of the data points that the workers of this data directory have written. */
export async function serveAnalyticsSql(
  analytics: Pick<Analytics, "query">,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method, url = "" } = request;
  if (method !== "GET" && method !== "POST") {
    request.resume();
    return answer(response, 405, "The SQL API accepts only GET and POST", { allow: "GET, POST" });
  }
  try {
    const sql = method === "POST" ? await readSql(request) : sqlInQuery(url);
    if (method === "GET") request.resume();
    if (sql === undefined) return answer(response, 400, "Query string error: missing field `query`");
    const { type, text } = await analytics.query("", sql);
    response.writeHead(200, { "content-type": type }).end(text);
  } catch (err) {
    if (err instanceof ClientGone) return;
    if (err instanceof TooLong) {
      answer(response, 413, `The query is longer than ${ANALYTICS_QUERY_BYTES} bytes`, { connection: "close" });
      return dropRest(request);
    }
    if (!(err instanceof UserError) || err.domain !== "analytics") throw err;
    answer(response, err.entry.http, err.message);
  }
}

class TooLong extends Error {}

const sqlInQuery = (url: string) =>
  new URLSearchParams(url.includes("?") ? url.slice(url.indexOf("?")) : "").get("query") ?? undefined;

function readSql(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > ANALYTICS_QUERY_BYTES) reject(new TooLong());
      else chunks.push(chunk);
    });
    request.on("end", () => resolve(Buffer.concat(chunks).toString()));
    request.on("error", (cause) => reject(new ClientGone("the client disconnected", { cause })));
    request.on("close", () => {
      if (!request.complete) reject(new ClientGone("the client disconnected"));
    });
  });
}

function answer(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...headers }).end(text);
}
