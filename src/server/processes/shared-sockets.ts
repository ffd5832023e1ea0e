import { lookup } from "node:dns/promises";
import * as net from "node:net";
import { getSystemErrorName } from "node:util";
import type { Settings } from "../../kernel/settings.ts";
import { serverErrors } from "../errors.ts";
import type { ProcessRole } from "../roles.ts";

/** A TCP socket that is bound to an address. The processes inherit it and listen on it. */
interface BoundSocket {
  readonly fd: number;
  close(): void;
}

/**
 * The internal function of node:net that node:cluster uses to bind a socket: a net.Server would accept connections
 * itself.
 */
interface BindingNet {
  /** Returns the negative error number on failure. */
  _createServerHandle(
    address: string,
    port: number,
    family: 4 | 6,
    fd: undefined,
    flags: number,
  ): number | (BoundSocket & { getsockname(out: { port?: number }): number });
}

/** Rejects with UserError if the address is unavailable. */
async function bindSocket(host: string, port: number): Promise<BoundSocket> {
  const { address, family } = await lookup(host).catch((cause: unknown) => {
    throw serverErrors.cannotBind({ host, port, reason: "the host is unknown" }, { cause });
  });
  const handle = (net as unknown as BindingNet)._createServerHandle(address, port, family === 6 ? 6 : 4, undefined, 0);
  if (typeof handle === "number") throw serverErrors.cannotBind({ host, port, reason: getSystemErrorName(handle) });
  // libuv reports EADDRINUSE only on listen(): until then, the socket has no address.
  const bound: { port?: number } = {};
  handle.getsockname(bound);
  if (bound.port === undefined || bound.port === 0) {
    handle.close();
    throw serverErrors.cannotBind({ host, port, reason: "EADDRINUSE" });
  }
  return handle;
}

/**
 * Binds the TCP ports that the processes share: HTTP, HTTPS, the dashboard, SMTP and submission. Keeps sockets that the
 * service manager has opened. Rejects with UserError if an address is unavailable.
 */
export async function bindSharedSockets(
  settings: Pick<Settings, "http" | "tls" | "dashboard" | "smtp" | "submission">,
  roles: ReadonlySet<ProcessRole>,
  inherited: ReadonlyMap<string, number>,
): Promise<{ names: string[]; fds: number[]; close(): void }> {
  const { http, tls, dashboard, smtp, submission } = settings;
  const wanted: [name: string, host: string, port: number][] = [
    ["http", http.host, http.port],
    ...(tls.https ? [["https", http.host, tls.https_port] satisfies [string, string, number]] : []),
    ...(roles.has("api") && dashboard.enabled
      ? [["dashboard", dashboard.host, dashboard.port] satisfies [string, string, number]]
      : []),
    ...(roles.has("smtp") ? [["smtp", smtp.host, smtp.port] satisfies [string, string, number]] : []),
    ...(roles.has("smtp") && submission.enabled
      ? [["submission", submission.host, submission.port] satisfies [string, string, number]]
      : []),
  ];
  const bound: BoundSocket[] = [];
  const close = () => bound.forEach((socket) => socket.close());
  const sockets: { name: string; fd: number }[] = [];
  try {
    for (const [name, host, port] of wanted) {
      const inheritedFd = inherited.get(name);
      if (inheritedFd !== undefined) {
        sockets.push({ name, fd: inheritedFd });
        continue;
      }
      const socket = await bindSocket(host, port);
      bound.push(socket);
      sockets.push({ name, fd: socket.fd });
    }
  } catch (err) {
    close();
    throw err;
  }
  return { names: sockets.map(({ name }) => name), fds: sockets.map(({ fd }) => fd), close };
}
