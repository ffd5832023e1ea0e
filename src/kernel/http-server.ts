import type { Server } from "node:http";
import { Server as NetServer, type AddressInfo } from "node:net";
import { defineErrors } from "./errors.ts";

/** What can be wrong with listening. */
export const listenErrors = defineErrors("listen", {
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

/** For servers of HTTP/1.1 in front of workers and big bodies: a handler may stream for as long as it likes, only the headers have to arrive in time. */
export const HTTP_SERVER_OPTIONS = {
  requestTimeout: 0,
  headersTimeout: 60_000,
  keepAliveTimeout: 60_000,
  maxHeaderSize: 64 * 1024,
  noDelay: true,
} as const;

/** Port 0 takes any free one; `fd` is a socket that listens already, and goes before the address. Rejects with UserError when the port cannot be had. */
export function listen(
  server: Server,
  { host, port, fd }: { host: string; port: number; fd?: number },
): Promise<{ url: string; port: number }> {
  return new Promise((resolve, reject) => {
    const refused = (error: NodeJS.ErrnoException) => reject(listenError(error, host, port));
    server.once("error", refused);
    server.listen(fd === undefined ? { host, port } : { fd }, () => {
      server.off("error", refused);
      const bound = (server.address() as AddressInfo).port;
      resolve({ url: `http://${urlHost(host)}:${bound}`, port: bound });
    });
  });
}

/**
 * Takes no new connection and resolves when the last request is answered; after `graceMs` what is left is cut. Connections without a request
 * are kept for `idleMs` (default 0): a busy client's next request may be on its way, and gets its answer with `Connection: close`
 * instead of a reset (RFC 9112 9.5).
 */
export function closeGracefully(server: Server, graceMs: number, idleMs = 0): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    server.maxRequestsPerSocket = 1;
    const since = performance.now();
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    // A connection whose last request is answered from here on stays open for the next one that nobody will send.
    const idle = setInterval(() => {
      if (performance.now() - since >= idleMs) server.closeIdleConnections();
    }, 20);
    // That of http would close idle connections first.
    NetServer.prototype.close.call(server, () => {
      clearTimeout(cut);
      clearInterval(idle);
      resolve();
    });
    if (idleMs === 0) server.closeIdleConnections();
  });
}

/** The wildcard addresses are reached through loopback. */
export const urlHost = (host: string): string =>
  host === "0.0.0.0" || host === "::" ? "localhost" : host.includes(":") ? `[${host}]` : host;

export const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.");

function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  if (error.code === "EADDRINUSE") return listenErrors.portBusy({ host, port }, { cause: error });
  if (error.code === "EACCES") return listenErrors.portForbidden({ host, port }, { cause: error });
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND")
    return listenErrors.hostUnknown({ host }, { cause: error });
  return error;
}
