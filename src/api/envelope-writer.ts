import type { ServerResponse } from "node:http";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";

const CORS = {
  // Scripts send tokens explicitly, and browsers never send them automatically, so any origin may call the API.
  "access-control-allow-origin": "*",
  "access-control-expose-headers":
    "cf-ray, x-request-id, retry-after, etag, location, stream-media-id, tus-resumable, tus-version, tus-extension, tus-max-size, upload-offset, upload-length",
};
export const PREFLIGHT = {
  ...CORS,
  "access-control-allow-methods": "GET, POST, PUT, PATCH, DELETE, HEAD",
  "access-control-allow-headers": "*, authorization",
  "access-control-max-age": "7200",
};

/** Returns headers of every response. Clients of the hosted API look for a request id in cf-ray. */
const headersOf = (id: string): Record<string, string> => ({
  ...CORS,
  "cf-ray": id.slice(0, 16),
  "x-request-id": id,
});

/**
 * Writes an envelope directly to Node's response: creating a Response costs more than everything else in a short
 * response.
 */
export function sendEnvelope(
  outgoing: ServerResponse,
  status: number,
  id: string,
  text: string,
  extraHeaders?: Record<string, string>,
): Response {
  writeEnvelope(outgoing, status, id, text, extraHeaders);
  return RESPONSE_ALREADY_SENT;
}

export function writeEnvelope(
  outgoing: ServerResponse,
  status: number,
  id: string,
  text: string,
  extraHeaders?: Record<string, string>,
): undefined {
  const octets = Buffer.byteLength(text);
  const headers = [
    "content-type",
    "application/json",
    "content-length",
    String(octets),
    "cf-ray",
    id.slice(0, 16),
    "x-request-id",
    id,
  ];
  // Only browsers send Origin and need the longer header list (Fetch 3.3.3).
  if (outgoing.req.headers.origin !== undefined) headers.push(...CORS_LIST);
  for (const name in extraHeaders) headers.push(name, extraHeaders[name]!);
  outgoing.writeHead(status, headers);
  // ASCII is written as Latin-1, because Node reserves three bytes per character for UTF-8. See bench/api-read.bench.ts.
  outgoing.end(text, octets === text.length ? "latin1" : "utf8");
}

const CORS_LIST = Object.entries(CORS).flat();

export function withHeaders(response: Response, id: string): Response {
  for (const [name, value] of Object.entries(headersOf(id))) response.headers.set(name, value);
  return response;
}
