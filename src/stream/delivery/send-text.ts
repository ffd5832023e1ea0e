import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { cacheControl } from "./cache-control.ts";
import { isKnown } from "./range.ts";
import type { Viewing } from "./route.ts";
import type { Video } from "../videos/index.ts";

/** The request that a viewing answers. */
export interface Exchange {
  video: Video;
  id: string;
  request: IncomingMessage;
  response: ServerResponse;
}

/** From here on a text is packed: the playlist of ten hours is 400 KB, and 20 KB then. */
const WORTH_PACKING = 2048;
/** Half the time of the usual level, and hardly more octets where every line is like the one before. */
const LEVEL = 3;

export function sendText(
  exchange: Exchange,
  text: string,
  { type, cache, status = 200 }: Parameters<Viewing["sendText"]>[1],
): void {
  const { request, response } = exchange;
  const headers: Record<string, string | number> = { "content-type": type };
  // What the handler has said itself stands.
  if (!response.hasHeader("cache-control")) headers["cache-control"] = cacheControl(exchange, cache);
  if (status === 200 && cache !== undefined) {
    // Weak: it is that of the packed form too (RFC 9110 8.8.1).
    const etag = `W/"${hash("sha1", text, "base64url")}"`;
    headers["etag"] = etag;
    if (isKnown(request.headers["if-none-match"], etag)) return void response.writeHead(304, headers).end();
  }
  let body: Buffer = Buffer.from(text);
  if (body.length >= WORTH_PACKING) {
    headers["vary"] = "Accept-Encoding";
    if (takesGzip(request.headers["accept-encoding"])) {
      body = gzipSync(body, { level: LEVEL });
      headers["content-encoding"] = "gzip";
    }
  }
  headers["content-length"] = body.length;
  response.writeHead(status, headers).end(request.method === "HEAD" ? undefined : body);
}

const takesGzip = (field: string | string[] | undefined) =>
  /(?:^|,)\s*(?:gzip|\*)\s*(?:$|,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$)))/i.test(String(field ?? ""));
