import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { markForwarded } from "../kernel/client-address.ts";
import { closeGracefully, HTTP_SERVER_OPTIONS, listen, type Log } from "../kernel/index.ts";
import type { NodeIdentity } from "./authority.ts";
import { takeClientHeaders } from "./forwarded-headers.ts";

/** Handlers for requests that other nodes forward. For these requests, ClientAddress returns the original client. */
export interface ForwardedHandlers {
  request(request: IncomingMessage, response: ServerResponse): void;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
}

interface NodeListener {
  readonly port: number;
  /** Waits up to `graceMs` for requests in progress. */
  close(): Promise<void>;
}

interface ListenerDeps {
  identity: NodeIdentity;
  handlers: ForwardedHandlers;
  log: Log;
  /** How long close() waits for requests in progress. Default 30 s. */
  graceMs?: number;
}

const MAX_CONNECTIONS = 20_000;
const HANDSHAKE_MS = 10_000;
const WARN_MS = 60_000;

/**
 * Opens the internal listener: HTTPS for clients with a certificate from the cluster's authority. Rejects with
 * UserError if the port is unavailable.
 */
export async function listenForNodes(
  address: { host: string; port: number },
  { identity, handlers, log, graceMs = 30_000 }: ListenerDeps,
): Promise<NodeListener> {
  const upgraded = new Set<Duplex>();
  const server = createServer({
    ...HTTP_SERVER_OPTIONS,
    ...identity.tls(),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: "TLSv1.3",
    handshakeTimeout: HANDSHAKE_MS,
  });
  server.maxConnections = MAX_CONNECTIONS;
  identity.onRenewed(() => server.setSecureContext({ ...identity.tls(), minVersion: "TLSv1.3" }));
  let warnedAt = -Infinity;
  server.on("tlsClientError", (err, socket) => {
    if (performance.now() - warnedAt < WARN_MS) return;
    warnedAt = performance.now();
    log.warn({ err, address: socket.remoteAddress }, "cluster: internal listener rejected a connection");
  });
  server.on("request", (request, response) => {
    const client = takeClientHeaders(request);
    if (client === undefined) return void response.writeHead(400).end();
    markForwarded(request, client);
    handlers.request(request, response);
  });
  server.on("upgrade", (request, socket, head) => {
    upgraded.add(socket);
    socket.setMaxListeners(20);
    socket.once("close", () => upgraded.delete(socket)).on("error", () => socket.destroy());
    const client = takeClientHeaders(request);
    if (client === undefined) return void socket.end("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
    markForwarded(request, client);
    handlers.upgrade(request, socket, head);
  });
  await listen(server, address);
  server.on("error", (err) => log.error({ err }, "cluster: internal listener failed"));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = closeGracefully(server, { graceMs, idleMs: 500 });
      for (const socket of upgraded) socket.destroy();
      await closed;
    },
  };
}
