import type { IncomingMessage, ServerResponse } from "node:http";
import type { PlayerAssets } from "./assets.ts";

const YEAR_SECONDS = 365 * 24 * 3600;
/** Cache lifetime of scripts under a stable name: other sites load them, and a fix should reach them within an hour. */
const HOUR_SECONDS = 3600;

/** Serves the scripts and style sheets under `/embed/`, without access checks. */
export async function serveAsset(
  assets: PlayerAssets,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const isHashedFolder = path.startsWith("assets/");
  const matchedAsset = /^(assets\/)?[a-z0-9.-]{1,80}$/.test(path)
    ? await assets.find(isHashedFolder ? path.slice(7) : path)
    : undefined;
  if (matchedAsset === undefined) return sendError(response, 404, "Not found");
  if (request.method !== "GET" && request.method !== "HEAD")
    return sendError(response, 405, "Only GET is allowed", { allow: "GET, HEAD" });
  const { asset, exact: isExact } = matchedAsset;
  const etag = `"${asset.hashedName}"`;
  const headers: Record<string, string> = {
    "content-type": asset.type,
    "cache-control": cacheOf(isHashedFolder, isExact),
    etag,
    vary: "accept-encoding",
    "access-control-allow-origin": "*",
    "cross-origin-resource-policy": "cross-origin",
    "x-content-type-options": "nosniff",
  };
  if (request.headers["if-none-match"] === etag) {
    response.writeHead(304, headers).end();
    return;
  }
  const encoding = encodingFor(request.headers["accept-encoding"]);
  const body = encoding === undefined ? asset.body : await asset.encoded(encoding);
  response.writeHead(200, {
    ...headers,
    ...(encoding && { "content-encoding": encoding }),
    "content-length": body.length,
  });
  response.end(request.method === "HEAD" ? undefined : body);
}

/**
 * A page from an earlier version may request an old hash: it receives the current file, marked as not cacheable under
 * that name.
 */
const cacheOf = (isHashedFolder: boolean, isExact: boolean) =>
  isExact
    ? `public, max-age=${YEAR_SECONDS}, immutable`
    : isHashedFolder
      ? "no-store"
      : `public, max-age=${HOUR_SECONDS}`;

function encodingFor(acceptEncoding: string | string[] | undefined): "br" | "gzip" | undefined {
  const names = String(acceptEncoding ?? "")
    .split(",")
    .filter((encodingItem) => !/;\s*q=0(\.0*)?\s*$/.test(encodingItem))
    .map((encodingItem) => encodingItem.split(";", 1)[0]?.trim());
  return names.includes("br") ? "br" : names.includes("gzip") ? "gzip" : undefined;
}

function sendError(response: ServerResponse, status: number, text: string, headers: Record<string, string> = {}): void {
  response
    .writeHead(status, { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff", ...headers })
    .end(`${text}\n`);
}
