import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { messageOf, UserError } from "../../../../kernel/index.ts";
import { plainAddress } from "../../../../kernel/networks.ts";
import type { TlsSource } from "../../../../kernel/tls-source.ts";
import { streamErrors } from "../../../errors.ts";
import { type RtmpConnection, type ConnectionDeps, createRtmpConnection, tooManyConnections } from "./connection.ts";
import { createPendingConnections } from "./pending-connections.ts";
import { reuseReadBuffer } from "./one-buffer.ts";

interface RtmpServerDeps extends ConnectionDeps {
  host: string;
  /** Port for plain RTMP; absent: disabled. 0: the system chooses a free port. */
  port?: number;
  /** RTMPS; absent: disabled. */
  secure?: { port: number; tls: Pick<TlsSource, "context"> };
  /** Maximum number of concurrent publishers and players. */
  connections: number;
  limits?: Partial<RtmpLimits>;
}

export interface RtmpLimits {
  /** Milliseconds allowed from connection to `publish` or `play`. Default 10,000. */
  admissionMs: number;
  /** Maximum milliseconds without data from a publisher, or without a player reading any. Default 30,000. */
  idleMs: number;
  /** Maximum number of pending connections, in total and per network. */
  maxPending: number;
  maxPendingPerNetwork: number;
}

export interface RtmpServer {
  /** Undefined: disabled. */
  readonly port: number | undefined;
  readonly securePort: number | undefined;
  /** Number of publishers and players, and of pending connections. */
  load(): { admitted: number; waiting: number };
  /** Ends all connections. */
  close(): Promise<void>;
}

const DEFAULTS: RtmpLimits = { admissionMs: 10_000, idleMs: 30_000, maxPending: 1000, maxPendingPerNetwork: 250 };

/** Listens for publishers and players. Rejects with UserError liveListenFailed if a port is unavailable. */
export async function startRtmpServer(parts: RtmpServerDeps): Promise<RtmpServer> {
  const { host, port, secure, connections: most, limits: given } = parts;
  const limits = { ...DEFAULTS, ...given };
  const pending = createPendingConnections({ maxTotal: limits.maxPending, perNetwork: limits.maxPendingPerNetwork });
  const open = new Map<Socket, RtmpConnection>();
  let admitted = 0;

  function acceptConnection(raw: Socket, tls: Pick<TlsSource, "context"> | undefined) {
    const address = plainAddress(raw.remoteAddress);
    raw.setNoDelay(true);
    const socket =
      tls === undefined
        ? reuseReadBuffer(raw)
        : new TLSSocket(raw, {
            isServer: true,
            secureContext: tls.context(),
            SNICallback: (name, done) => done(null, tls.context(name)),
          });
    // Destroying only the TLS layer leaves a socket whose handshake has not begun.
    const destroy = () => {
      socket.destroy();
      raw.destroy();
    };
    raw.on("error", destroy);
    let deadline: NodeJS.Timeout | undefined;
    let leavePending = () => {};

    /** Counts as pending until the client sends `publish` or `play`. */
    function wait() {
      if (socket.destroyed) return;
      socket.setTimeout(limits.admissionMs);
      deadline = setTimeout(destroy, limits.admissionMs).unref();
      leavePending = pending.add(address, destroy);
    }

    function endPending() {
      clearTimeout(deadline);
      leavePending();
    }

    function admit() {
      if (admitted >= most) throw tooManyConnections(most);
      admitted++;
      endPending();
      socket.setTimeout(limits.idleMs);
      return () => void admitted--;
    }

    wait();
    open.set(
      socket,
      createRtmpConnection({
        ...parts,
        socket,
        address,
        protocol: tls === undefined ? "rtmp" : "rtmps",
        admit,
        onIdle: wait,
      }),
    );
    socket.once("close", () => {
      endPending();
      open.delete(socket);
      raw.destroy();
    });
  }

  const servers: Server[] = [];
  async function listen(at: number, tls?: Pick<TlsSource, "context">): Promise<number> {
    const server = createServer((socket) => acceptConnection(socket, tls));
    await new Promise<void>((resolve, reject) => {
      server.once("error", (err) =>
        reject(streamErrors.liveListenFailed({ port: at, host, reason: messageOf(err) }, { cause: err })),
      );
      server.listen({ host, port: at }, resolve);
    });
    server.on("error", (err) => parts.log.error({ err }, "rtmp: failed to accept a connection"));
    servers.push(server);
    return (server.address() as AddressInfo).port;
  }

  async function close() {
    const closed = servers.map((server) => new Promise<void>((resolve) => void server.close(() => resolve())));
    for (const connection of open.values()) connection.end(streamErrors.liveShuttingDown());
    await Promise.all(closed);
  }

  try {
    const plainPort = port === undefined ? undefined : await listen(port);
    const securePort = secure === undefined ? undefined : await listen(secure.port, secure.tls);
    return { port: plainPort, securePort, load: () => ({ admitted, waiting: pending.size }), close };
  } catch (err) {
    await close();
    throw err instanceof UserError
      ? err
      : streamErrors.liveListenFailed({ port, host, reason: messageOf(err) }, { cause: err });
  }
}
