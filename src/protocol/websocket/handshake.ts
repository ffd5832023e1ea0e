import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/** Sec-WebSocket-Accept value for a key (RFC 6455 4.2.2). */
export const acceptOf = (key: string): string =>
  createHash("sha1")
    .update(key + GUID)
    .digest("base64");

type Handshake =
  /** Subprotocols in the client's order of preference. */
  | { ok: true; key: string; protocols: string[] }
  | { ok: false; status: 400 | 405 | 426; reason: string; headers: Record<string, string> };

const refusal = (status: 400 | 405 | 426, reason: string, headers: Record<string, string> = {}): Handshake => ({
  ok: false,
  status,
  reason,
  headers,
});

/** Checks a client's opening handshake (RFC 6455 4.2.1). */
export function readHandshake({
  method,
  headers,
}: {
  method?: string | undefined;
  headers: IncomingHttpHeaders;
}): Handshake {
  if (method !== "GET") return refusal(405, "a WebSocket is opened with GET", { Allow: "GET" });
  if (
    headers.upgrade?.toLowerCase() !== "websocket" ||
    !listOf(headers.connection).some((token) => token.toLowerCase() === "upgrade")
  ) {
    return refusal(426, "this is a WebSocket", { Upgrade: "websocket", Connection: "Upgrade, close" });
  }
  if (headers["sec-websocket-version"] !== "13")
    return refusal(426, "the version of the protocol is 13", { "Sec-WebSocket-Version": "13" });
  const key = headers["sec-websocket-key"] ?? "";
  // The key is sixteen octets in base64.
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key)) return refusal(400, "Sec-WebSocket-Key is missing or malformed");
  return { ok: true, key, protocols: listOf(headers["sec-websocket-protocol"]) };
}

const listOf = (value: string | undefined) =>
  (value ?? "")
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");

/** The server's response, which accepts no extension. */
export const acceptance = (key: string, protocol?: string): string =>
  [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${acceptOf(key)}`,
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    "",
    "",
  ].join("\r\n");
