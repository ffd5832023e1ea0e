import type { IncomingMessage, ServerResponse } from "node:http";
import type { DashboardFile, DashboardFiles } from "./files.ts";
import { COMMON_HEADERS, MESSAGE_FRAME, messageFrameHeaders, pagePolicy, type UsedOrigins } from "./headers.ts";

const YEAR_SECONDS = 365 * 24 * 3600;
const HASHED_NAME = /-[A-Z0-9a-z]{8}\.[a-z0-9]+$/;
const ASSETS = "/assets/";
/** Frames that display messages; see shared/html-frame.tsx. */
const FRAME = "/message-frame";

/** Serves the files and the pages of the dashboard. `origins`: other origins that the pages may use. */
export function createPages(files: DashboardFiles) {
  return async function answerPage(
    request: IncomingMessage,
    response: ServerResponse,
    origins: UsedOrigins,
  ): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, "http://dashboard");
    if (request.method !== "GET" && request.method !== "HEAD")
      return sendText(response, 405, `${pathname} accepts only GET.`, { allow: "GET, HEAD" });
    if (pathname === FRAME) {
      response.writeHead(200, {
        ...messageFrameHeaders({ remote: searchParams.has("remote") }),
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
      });
      return void response.end(request.method === "HEAD" ? undefined : MESSAGE_FRAME);
    }
    if (pathname.startsWith(ASSETS)) {
      const name = pathname.slice(ASSETS.length);
      const file = name === "index.html" ? undefined : await files.find(name);
      if (file === undefined) return sendText(response, 404, "Not found.");
      const cacheControl = HASHED_NAME.test(name) ? `public, max-age=${YEAR_SECONDS}, immutable` : "no-cache";
      return sendFile(request, response, file, { "cache-control": cacheControl });
    }
    // Pages have no extension; browsers and tools ask for other files, such as /robots.txt.
    if (/\.[a-z0-9]{1,8}$/i.test(pathname)) return sendText(response, 404, "Not found.");
    const page = await files.find("index.html");
    if (page === undefined) throw new Error("the build of the dashboard has no index.html: run `npm run build`");
    return sendFile(request, response, page, {
      "cache-control": "no-cache",
      "content-security-policy": pagePolicy(origins),
    });
  };
}

async function sendFile(
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
