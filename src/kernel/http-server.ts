import type { IncomingMessage, Server } from "node:http";
import { Server as NetServer, type AddressInfo, type Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { defineErrors } from "./errors.ts";

/** Errors of listening on a port. */
const listenErrors = defineErrors("listen", {
  portBusy: {
    code: "port_busy",
    http: 500,
    message: "Port {port} on {host} is in use by another program.",
    fix: "Stop that program, or use another port: `--port 0` selects a free one.",
  },
  portForbidden: {
    code: "port_forbidden",
    http: 500,
    message: "No permission to listen on port {port} of {host}.",
    fix: "Use a port above 1023, for example `--port 8787`.",
  },
  hostUnknown: {
    code: "host_unknown",
    http: 500,
    message: "{host} is not an address of this machine.",
    fix: "Use `--host 127.0.0.1`, or `--host 0.0.0.0` for every address.",
  },
});

/**
 * For HTTP/1.1 servers that receive large bodies or requests to workers: handlers may stream indefinitely; only headers have a time
 * limit.
 */
export const HTTP_SERVER_OPTIONS = {
  requestTimeout: 0,
  headersTimeout: 60_000,
  keepAliveTimeout: 60_000,
  maxHeaderSize: 64 * 1024,
  noDelay: true,
} as const;

/**
 * Port 0 selects a free port; `fd` is a listening socket and overrides the address. Rejects with UserError if the port
 * is unavailable.
 */
export function listen(
  server: Server,
  { host, port, fd }: { host: string; port: number; fd?: number },
): Promise<{ url: string; port: number }> {
  return new Promise((resolve, reject) => {
    const onListenError = (error: NodeJS.ErrnoException) => reject(listenError(error, host, port));
    server.once("error", onListenError);
    server.listen(fd === undefined ? { host, port } : { fd }, () => {
      server.off("error", onListenError);
      const boundPort = (server.address() as AddressInfo).port;
      resolve({ url: `http://${urlHost(host)}:${boundPort}`, port: boundPort });
    });
  });
}

interface CloseOptions {
  /** Time for running requests, in milliseconds; the rest is dropped afterwards. */
  graceMs: number;
  /** How long idle connections stay open, in milliseconds. Default 0. */
  idleMs?: number;
  /** Connections without a request so far, from trackUnused(); they stay open for `unusedMs`, at least `idleMs`. */
  unused?: ReadonlySet<Socket>;
  unusedMs?: number;
}

/**
 * Accepts no new connections and resolves after the last response. Idle connections stay open for a while: the next
 * request of a busy client may be in flight, and gets its response with `Connection: close` instead of a reset (RFC
 * 9112 9.5). Clients retry on a connection that they have used before; on a new one they report the reset as an error,
 * so those stay open for longer. closeIdleConnections() closes both kinds.
 */
export function closeGracefully(
  server: Server,
  { graceMs, idleMs = 0, unused = new Set(), unusedMs = idleMs }: CloseOptions,
): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    server.maxRequestsPerSocket = 1;
    const since = performance.now();
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    const closeIdle = () => {
      const elapsed = performance.now() - since;
      if (elapsed >= (unused.size > 0 ? Math.max(idleMs, unusedMs) : idleMs)) server.closeIdleConnections();
    };
    // A connection that finishes its last request now would otherwise wait for another one.
    const idle = setInterval(closeIdle, 20);
    // The method of http.Server would close idle connections first.
    NetServer.prototype.close.call(server, () => {
      clearTimeout(cut);
      clearInterval(idle);
      resolve();
    });
    closeIdle();
  });
}

/** Returns the open connections on which no request has arrived yet. Call it before the server listens. */
export function trackUnused(server: Server): ReadonlySet<Socket> {
  const unused = new Set<Socket>();
  server.on(server instanceof TlsServer ? "secureConnection" : "connection", (socket: Socket) => {
    unused.add(socket);
    socket.once("close", () => unused.delete(socket));
  });
  for (const event of ["request", "upgrade"]) server.on(event, ({ socket }: IncomingMessage) => unused.delete(socket));
  return unused;
}

/** Wildcard addresses are reachable through loopback. */
const urlHost = (host: string): string =>
  host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;

export const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.");

function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === "EADDRINUSE") return listenErrors.portBusy({ host, port }, { cause: error });
  if (error.code === "EACCES") return listenErrors.portForbidden({ host, port }, { cause: error });
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND")
    return listenErrors.hostUnknown({ host }, { cause: error });
  return error;
}
