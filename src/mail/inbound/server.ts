import { randomBytes } from "node:crypto";
import type { AddressInfo, Socket } from "node:net";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import type { SMTPConnectionOptions } from "smtp-server/lib/smtp-connection";
import { messageOf, type Clock, type Log } from "../../kernel/index.ts";
import { plainAddress } from "../../kernel/networks.ts";
import type { TlsSource } from "../../kernel/tls-source.ts";
import { mailErrors } from "../errors.ts";
import { StrictConnection, type ConnectionLimits } from "./connection.ts";
import { addressSet } from "./network.ts";
import { readProxied } from "./proxied.ts";
import { createRoom, type Place, type Room } from "./room.ts";

/** smtp-server extended with PROXY headers, shared connection slots, changing certificates, and an orderly shutdown. */

export interface StrictServerOptions {
  host: string;
  /** 0 selects any free port. */
  port: number;
  /** An inherited listening socket; overrides the address. */
  fd?: number | undefined;
  /** How to choose another port, for error texts. */
  otherPort?: string;
  /** Host name in the greeting. */
  name: string;
  limits: ServerLimits;
  /** If omitted, TLS is not available. */
  tls?: Pick<TlsSource, "context"> | undefined;
  /** TLS from the first octet. */
  secure?: boolean;
  /** Addresses and ranges of load balancers that begin each connection with a PROXY header. */
  proxies?: readonly string[];
  clock: Pick<Clock, "now">;
  log: Log;
  /** Options for smtp-server: handlers and announced extensions. */
  smtp: SMTPServerOptions;
}

export interface ServerLimits extends ConnectionLimits {
  connections: number;
  /** Per IPv4 address or IPv6 /64. */
  connectionsPerNetwork: number;
  /** Milliseconds without progress after which a connection can be replaced when all slots are taken. */
  restMs: number;
  /** Milliseconds for a PROXY header to arrive. */
  proxyMs: number;
  /** Milliseconds that close() waits for messages in progress. */
  closeMs: number;
}

export interface SmtpListener {
  readonly host: string;
  readonly port: number;
  /** Number of connected clients. */
  readonly connections: number;
  /** Stops accepting connections, answers messages in progress, then disconnects. */
  close(): Promise<void>;
}

/**
 * The longest command without AUTH is a RCPT with ORCPT, about 1,100 octets; with AUTH it is a token of a few hundred.
 */
const MAX_COMMAND = 4096;

/** Rejects with UserError if the port is unavailable. */
export async function startSmtpServer(options: StrictServerOptions): Promise<SmtpListener> {
  const { host, port, fd, log, limits, otherPort = "`--smtp-port 0`" } = options;
  const server = new StrictServer(options);
  // Clients often drop the connection, so this is only a debug message.
  server.on("error", (err: Error) => log.debug({ err }, "smtp: connection failed"));

  await new Promise<void>((resolve, reject) => {
    const failed = (err: NodeJS.ErrnoException) =>
      reject(
        err.code === "EADDRINUSE"
          ? mailErrors.portBusy({ host, port, otherPort }, { cause: err })
          : mailErrors.listenFailed({ host, port, otherPort, reason: messageOf(err) }, { cause: err }),
      );
    server.server.once("error", failed);
    server.listen(fd === undefined ? { host, port } : { fd }, () => {
      server.server.off("error", failed);
      resolve();
    });
  });

  let closed: Promise<void> | undefined;
  return {
    host,
    port: (server.server.address() as AddressInfo).port,
    get connections() {
      return server.room.taken;
    },
    close: () =>
      (closed ??= new Promise<void>((resolve) => {
        server.closing = true;
        server.close(resolve);
        server.hangUpIdle();
        if (server.connections.size > 0)
          log.info(
            { connections: server.connections.size, ms: limits.closeMs },
            "smtp: waiting for messages in progress",
          );
      })),
  };
}

interface Arrival extends SMTPConnectionOptions {
  id: string;
  place: Place;
}

class StrictServer extends SMTPServer {
  readonly room: Room;
  closing = false;
  readonly #options: StrictServerOptions;
  readonly #isProxy: (ip: string | undefined) => boolean;

  constructor(options: StrictServerOptions) {
    const { name, limits, tls, secure = false, clock, smtp } = options;
    super({
      name,
      secure,
      heloResponse: "%s greets %s",
      maxClients: limits.connections,
      maxCommandLength: MAX_COMMAND,
      socketTimeout: limits.commandMs,
      closeTimeout: limits.closeMs,
      disableReverseLookup: true,
      hideENHANCEDSTATUSCODES: false,
      logger: false,
      ...smtp,
      // Disables smtp-server's joke commands.
      disabledCommands: [
        "WIZ",
        "SHELL",
        "KILL",
        ...(smtp.disabledCommands ?? []),
        ...(tls === undefined || secure ? ["STARTTLS"] : []),
      ],
    });
    this.#options = options;
    this.#isProxy = addressSet(options.proxies ?? [], "smtp.proxies");
    this.room = createRoom({
      places: limits.connections,
      perNetwork: limits.connectionsPerNetwork,
      restMs: limits.restMs,
      clock,
    });
    // smtp-server takes the certificate for clients without SNI from this map, separately for each connection.
    const { onData } = this;
    this.onData = (stream, session, done) =>
      onData.call(this, stream, session, (...answer) => {
        done(...answer);
        if (this.closing) setImmediate(() => this.hangUpIdle());
      });
    if (tls !== undefined)
      this.secureContext = Object.assign(new Map<string, ReturnType<typeof tls.context>>(), {
        get: () => tls.context(),
      });
  }

  hangUpIdle(): void {
    for (const connection of this.connections) {
      if (!(connection as StrictConnection).busy) connection.send(421, "4.3.2 Server shutting down");
    }
  }

  override _resolveSNI(...[serverName, done]: Parameters<SMTPServer["_resolveSNI"]>): void {
    done(null, this.#options.tls?.context(serverName));
  }

  override connect(...[socket, arrival]: Parameters<SMTPServer["connect"]>): void {
    const connection = new StrictConnection(this, socket, arrival, this.#options.limits, (arrival as Arrival).place);
    this.connections.add(connection);
    connection.on("error", (err: Error) => this._onError(err));
    connection.init();
  }

  override _expectsProxyHeader(socket: Socket): boolean {
    return this.#isProxy(socket.remoteAddress);
  }

  /** Called first for each socket; continues with connect() or, with `secure`, with the TLS handshake. */
  override _handleProxy(socket: Socket, done: Parameters<SMTPServer["_handleProxy"]>[1]): void {
    const {
      limits: { proxyMs },
      log,
    } = this.#options;
    if (!this._expectsProxyHeader(socket)) return this.#admit(socket, plainAddress(socket.remoteAddress), {}, done);
    readProxied(socket, proxyMs, (err, client) => {
      if (err !== undefined) {
        log.info(
          { proxy: socket.remoteAddress, reason: err.message },
          "smtp: no PROXY header from a client listed in smtp.proxies",
        );
        return done(err);
      }
      const { ip = plainAddress(socket.remoteAddress), port } = client ?? {};
      this.#admit(socket, ip, { remoteAddress: ip, ...(port !== undefined && { remotePort: port }) }, done);
    });
  }

  #admit(
    socket: Socket,
    ip: string,
    arrival: SMTPConnectionOptions,
    done: Parameters<SMTPServer["_handleProxy"]>[1],
  ): void {
    const {
      limits: { handshakeMs },
      secure = false,
      name,
    } = this.#options;
    if (socket.destroyed) return done(new Error("the client is gone"));
    // During a TLS handshake the underlying socket must not be destroyed.
    const hangUp = () => void (this._pendingSockets.get(socket) ?? socket).destroy();
    const place = this.room.enter(ip, { resting: true, evict: hangUp });
    if (typeof place === "string") {
      socket.on("error", () => {});
      // During TLS a plaintext reply is not possible.
      if (!secure)
        socket.write(
          `421 ${name} Too many connections${place === "full" ? "" : " from your network"}, try again later\r\n`,
        );
      socket.destroySoon();
      return done(new Error(`too many connections: ${place}`));
    }
    socket.once("close", () => place.leave());
    if (secure) {
      const deadline = setTimeout(() => this._pendingSockets.has(socket) && hangUp(), handshakeMs).unref();
      socket.once("close", () => clearTimeout(deadline));
    }
    const admitted: Arrival = { ...arrival, id: randomBytes(8).toString("hex"), place };
    done(null, admitted);
  }
}
