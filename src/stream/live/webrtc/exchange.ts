import type { IncomingMessage, ServerResponse } from "node:http";
import { streamErrors } from "../../errors.ts";

/** HTTP part of WHIP (RFC 9725) and WHEP (draft-murillo-whep): SDP in, SDP out. */
export const SDP_TYPE = "application/sdp";
export const SDP_FRAGMENT_TYPE = "application/trickle-ice-sdpfrag";

const MAX_OCTETS = 64 * 1024;
const PATIENCE_MS = 10_000;
/** Any origin may publish and play: access is controlled by the secret, or by tokens and allowed origins. */
const CORS_HEADERS = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": "Location, ETag, Link, Accept-Patch, Protocol-Version",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};
const METHODS = { endpoint: "POST, OPTIONS", session: "PATCH, DELETE, OPTIONS" };
export type WebrtcResource = keyof typeof METHODS;

export function setCommonHeaders(response: ServerResponse, version: string): void {
  for (const [name, value] of Object.entries(CORS_HEADERS)) response.setHeader(name, value);
  response.setHeader("protocol-version", version);
}

export function respondToOptions(response: ServerResponse, place: WebrtcResource): void {
  response
    .writeHead(204, {
      "access-control-allow-methods": METHODS[place],
      "access-control-allow-headers": "*, Authorization, Content-Type, If-Match",
      "access-control-max-age": "86400",
      allow: METHODS[place],
      ...(place === "endpoint" ? { "accept-post": SDP_TYPE } : { "accept-patch": `${SDP_FRAGMENT_TYPE}, ${SDP_TYPE}` }),
    })
    .end();
}

export const allowedMethods = (place: WebrtcResource): string => METHODS[place];

export const requestMediaType = (request: IncomingMessage): string =>
  (request.headers["content-type"] ?? "").split(";")[0]!.trim().toLowerCase();

/** Reads the whole body as text. Throws webrtcBadOffer if it is too large or incomplete. */
export async function readTextBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let octets = 0;
  const timeout = setTimeout(() => request.destroy(), PATIENCE_MS);
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      octets += chunk.length;
      if (octets <= MAX_OCTETS) chunks.push(chunk);
    }
  } catch (cause) {
    throw streamErrors.webrtcBadOffer({ reason: "its body is incomplete" }, { cause });
  } finally {
    clearTimeout(timeout);
  }
  if (octets > MAX_OCTETS) throw streamErrors.webrtcBadOffer({ reason: `it has more than ${MAX_OCTETS} bytes` });
  return Buffer.concat(chunks).toString("utf8");
}
