import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { matchesEtag } from "../../protocol/http/index.ts";
import { cacheControl } from "./cache-control.ts";
import type { DeliveryContext } from "./route.ts";
import type { Video } from "../videos/index.ts";

/** The request and video of one response. */
export interface Exchange {
  video: Video;
  id: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** Minimum length for compression: the playlist of a ten-hour video shrinks from 400 KB to 20 KB. */
const MIN_COMPRESSED_BYTES = 2048;
/** Takes half the time of the default level, and produces hardly more bytes for repetitive lines. */
const GZIP_LEVEL = 3;

export function sendTextResponse(
  exchange: Exchange,
  text: string,
  { type, cache, status = 200 }: Parameters<DeliveryContext["sendText"]>[1],
): void {
  const { request, response } = exchange;
  const headers: Record<string, string | number> = { "content-type": type };
  // A header set by the handler takes precedence.
  if (!response.hasHeader("cache-control")) headers["cache-control"] = cacheControl(exchange, cache);
  if (status === 200 && cache !== undefined) {
    // Weak: it also identifies the compressed form (RFC 9110 8.8.1).
    const etag = `W/"${hash("sha1", text, "base64url")}"`;
    headers["etag"] = etag;
    if (matchesEtag(request.headers["if-none-match"], etag)) return void response.writeHead(304, headers).end();
  }
  let body: Buffer = Buffer.from(text);
  if (body.length >= MIN_COMPRESSED_BYTES) {
    headers["vary"] = "Accept-Encoding";
    if (acceptsGzip(request.headers["accept-encoding"])) {
      body = gzipSync(body, { level: GZIP_LEVEL });
      headers["content-encoding"] = "gzip";
    }
  }
  headers["content-length"] = body.length;
  response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
}

const acceptsGzip = (field: string | string[] | undefined) =>
  /(?:^|,)\s*(?:gzip|\*)\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$)))/i.test(String(field ?? ""));
