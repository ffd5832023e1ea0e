import { createServer, type AddressInfo, type Socket } from "node:net";
import { messageOf, type Clock, type Log } from "../../kernel/index.ts";
import { unmappedAddress } from "../../kernel/networks.ts";
import { readProxied } from "../../kernel/proxy-protocol/index.ts";
import type { TlsSource } from "../../kernel/tls-source.ts";
import type { ServerExtensions, SmtpSessionLimits } from "../../protocol/smtp/index.ts";
import { mailErrors } from "../errors.ts";
import { createSmtpConnection, type SmtpConnection, type SessionTimeouts } from "./connection.ts";
import { addressSet } from "../address-set.ts";
import { createConnectionLimits, type ConnectionSlot } from "./connection-limits.ts";
import { serverTls } from "./server-tls.ts";
import type { SmtpHandlers } from "./session.ts";

interface SmtpServerOptions<User> {
  host: string;
  /** 0 selects any free port. */
  port: number;
  /** An inherited listening socket; takes precedence over the address. */
  fd?: number | undefined;
  /** Setting that selects another port, for error texts. */
  otherPort?: string;
  /** Name of the server in the greeting. */
  name: string;
  limits: ServerLimits;
  /** STARTTLS is offered only if set. */
  tls?: Pick<TlsSource, "context"> | undefined;
  /** Implicit TLS (RFC 8314). */
  secure?: boolean;
  /** Addresses and ranges of load balancers that send a PROXY header at the start of each connection. */
  proxies?: readonly string[];
  extensions: Omit<ServerExtensions, "starttls">;
  /** Maximum size in octets; announced as SIZE (RFC 1870). */
  maxSize: number;
  maxRecipients: number;
  handlers: SmtpHandlers<User>;
  /** Records sessions: `SmtpClient.transcript` returns their lines. Default false. */
  transcribes?: boolean;
  clock: Pick<Clock, "now">;
  log: Log;
}

export interface ServerLimits extends SessionTimeouts, SmtpSessionLimits {
  connections: number;
  /** Maximum per IPv4 address or IPv6 /64. */
  connectionsPerNetwork: number;
  /**
   * Milliseconds without progress after which a connection may be closed in favour of a new one when all slots are in
   * use.
   */
  minIdleMs: number;
  /** Milliseconds for a PROXY header to arrive. */
  proxyMs: number;
  /** Milliseconds that close() waits for messages in progress. */
  closeMs: number;
}

export interface SmtpListener {
  readonly host: string;
  readonly port: number;
  /** Connected clients. */
  readonly connections: number;
  /** Stops accepting connections, waits for messages in progress, then closes all connections. */
  close(): Promise<void>;
}

/** Rejects with UserError if it cannot listen on the port. */
export async function startSmtpServer<User>(options: SmtpServerOptions<User>): Promise<SmtpListener> {
  const { host, port, fd, log, limits, otherPort = "`--smtp-port 0`" } = options;
  const isProxy = addressSet(options.proxies ?? [], "smtp.proxies");
  const acceptance = createAcceptance(options);
  const server = createServer({ noDelay: true }, (socket) => {
    if (!isProxy(socket.remoteAddress)) return acceptance.accept(socket, unmappedAddress(socket.remoteAddress));
    acceptance.acceptProxied(socket);
  });
  await new Promise<void>((resolve, reject) => {
    const onListenError = (err: NodeJS.ErrnoException) =>
      reject(
        err.code === "EADDRINUSE"
          ? mailErrors.portBusy({ host, port, otherPort }, { cause: err })
          : mailErrors.listenFailed({ host, port, otherPort, reason: messageOf(err) }, { cause: err }),
      );
    server.once("error", onListenError).listen(fd === undefined ? { host, port } : { fd }, () => {
      server.off("error", onListenError);
      server.on("error", (err) => log.error({ err }, "smtp: failed to accept a connection"));
      resolve();
    });
  });

  function close(): Promise<void> {
    return new Promise((resolve) => {
      const deadline = setTimeout(() => {
        acceptance.shutDown({ force: true });
        resolve();
      }, limits.closeMs).unref();
      server.close(() => {
        clearTimeout(deadline);
        resolve();
      });
      acceptance.shutDown();
      if (acceptance.sessions > 0)
        log.info(
          { connections: acceptance.sessions, ms: limits.closeMs },
          "smtp: waiting for in-progress messages to finish",
        );
    });
  }

  let closed: Promise<void> | undefined;
  return {
    host,
    port: (server.address() as AddressInfo).port,
    get connections() {
      return acceptance.connections;
    },
    close: () => (closed ??= close()),
  };
}

/** Takes new sockets through the PROXY header, the connection limits and implicit TLS, and starts a session. */
function createAcceptance<User>(options: SmtpServerOptions<User>) {
  const { name, limits, tls, secure = false, clock, log } = options;
  const sessions = new Set<SmtpConnection>();
  /** Sockets that have no session yet. */
  const pending = new Set<Socket>();
  const admission = createConnectionLimits({
    slots: limits.connections,
    perNetwork: limits.connectionsPerNetwork,
    minIdleMs: limits.minIdleMs,
    clock,
  });
  const extensions = { ...options.extensions, starttls: tls !== undefined && !secure };
  const onError = (err: Error) => log.debug({ err }, "smtp: connection failed");
  let closing = false;

  function acceptProxied(socket: Socket) {
    if (pending.size >= limits.connections) return void socket.on("error", onError).destroy();
    const proxyAddress = socket.remoteAddress;
    track(socket);
    readProxied(socket, limits.proxyMs, (err, client) => {
      pending.delete(socket);
      if (err === undefined) return accept(socket, client?.ip ?? unmappedAddress(proxyAddress));
      log.info(
        { proxy: proxyAddress, reason: err.message },
        "smtp: no valid PROXY header received from an address listed in smtp.proxies",
      );
    });
  }

  function track(socket: Socket) {
    pending.add(socket);
    socket.once("close", () => pending.delete(socket));
  }

  function accept(socket: Socket, ip: string) {
    socket.on("error", onError);
    if (socket.destroyed || closing) return void socket.destroy();
    const slot = admission.acquire(ip, { isIdle: () => true, evict: () => socket.destroy() });
    if (typeof slot === "string") return reject(socket, slot);
    if (secure) startTls(socket, ip, slot);
    else startSession(socket, ip, slot);
  }

  function reject(socket: Socket, reason: "full" | "network") {
    const network = reason === "full" ? "" : " from your network";
    // A client that expects TLS cannot read a reply.
    if (!secure) socket.write(`421 ${name} Too many connections${network}, try again later\r\n`);
    socket.destroySoon();
  }

  function startTls(socket: Socket, ip: string, slot: ConnectionSlot) {
    const secureSocket = serverTls(socket, tls!);
    // Destroying the plain socket during a handshake leaves the TLS socket open.
    const hangUp = () => void secureSocket.destroy();
    const deadline = setTimeout(hangUp, limits.handshakeMs).unref();
    const end = () => {
      clearTimeout(deadline);
      slot.release();
    };
    slot.holder = { isIdle: () => true, evict: hangUp };
    track(secureSocket);
    secureSocket
      .on("error", onError)
      .once("close", end)
      .once("secure", () => {
        clearTimeout(deadline);
        secureSocket.off("close", end);
        pending.delete(secureSocket);
        startSession(secureSocket, ip, slot);
      });
  }

  function startSession(socket: Socket, ip: string, slot: ConnectionSlot) {
    const connection: SmtpConnection = createSmtpConnection({
      ...options,
      tls,
      socket,
      ip,
      slot,
      extensions,
      shuttingDown: () => closing,
      onError,
      onClose: () => void sessions.delete(connection),
    });
    sessions.add(connection);
  }

  return {
    accept,
    acceptProxied,
    get connections() {
      return admission.used;
    },
    get sessions() {
      return sessions.size;
    },
    /** Ends idle sessions now and all others after their next decision. With `force`, ends all of them now. */
    shutDown(closeOptions?: { force: boolean }) {
      closing = true;
      for (const socket of pending) socket.destroy();
      for (const connection of sessions) connection.shutDown(closeOptions);
    },
  };
}
