import type { IncomingMessage, ServerResponse } from "node:http";
import { acceptsHtml, errorPage, PAGE_POLICY } from "../kernel/design/index.ts";
import type { DashboardFile } from "./files.ts";
import { COMMON_HEADERS } from "./headers.ts";

/** Sends a file, compressed if the client accepts it. */
export async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { type, body, etag, encoded }: DashboardFile,
  more: Record<string, string>,
): Promise<void> {
  const headers = { ...COMMON_HEADERS, "content-type": type, etag, vary: "accept-encoding", ...more };
  if (request.headers["if-none-match"] === etag) return void response.writeHead(304, headers).end();
  const encoding = encodingFor(request.headers["accept-encoding"]);
  const encodedBody = encoding === undefined ? undefined : await encoded(encoding);
  const sentBody = encodedBody ?? body;
  response.writeHead(200, {
    ...headers,
    ...(encodedBody !== undefined && { "content-encoding": encoding }),
    "content-length": sentBody.length,
  });
  response.end(request.method === "HEAD" ? undefined : sentBody);
}

function encodingFor(acceptEncoding: string | string[] | undefined): "br" | "gzip" | undefined {
  const names = String(acceptEncoding ?? "")
    .split(",")
    .filter((item) => !/;\s*q=0(\.0*)?\s*$/.test(item))
    .map((item) => item.split(";", 1)[0]?.trim());
  return names.includes("br") ? "br" : names.includes("gzip") ? "gzip" : undefined;
}

export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  response
    .writeHead(status, { ...COMMON_HEADERS, "content-type": "text/plain; charset=utf-8", ...headers })
    .end(`${text}\n`);
}

/** Sends an error as a page to browsers, and as a line of text to other clients. */
export function sendErrorPage(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  {
    text,
    advice = text,
    link,
    headers = {},
  }: { text: string; advice?: string; link?: { label: string; href: string }; headers?: Record<string, string> },
): void {
  if (!acceptsHtml(request)) return sendText(response, status, text, headers);
  response
    .writeHead(status, {
      ...COMMON_HEADERS,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": PAGE_POLICY,
      ...headers,
    })
    .end(request.method === "HEAD" ? undefined : errorPage({ status, advice, link }));
}
