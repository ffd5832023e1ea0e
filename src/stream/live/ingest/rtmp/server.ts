import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { TLSSocket } from "node:tls";
import { messageOf, UserError } from "../../../../kernel/index.ts";
import { unmappedAddress, type NetworkSet } from "../../../../kernel/networks.ts";
import { createProxyReceiver } from "../../../../kernel/proxy-protocol/index.ts";
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
  /** Load balancers that send a PROXY header at the start of each connection. Default: none. */
  isProxy?: NetworkSet;
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
  /** Time limit in milliseconds for the PROXY header. Default 10,000. */
  proxyHeaderMs: number;
}

export interface RtmpServer {
  /** Undefined if the protocol is disabled. */
  readonly port: number | undefined;
  readonly securePort: number | undefined;
  /** Returns the number of publishers and players, and of pending connections. */
  load(): { admitted: number; waiting: number };
  /** Ends all connections. */
  close(): Promise<void>;
}

const DEFAULTS: RtmpLimits = {
  admissionMs: 10_000,
  idleMs: 30_000,
  maxPending: 1000,
  maxPendingPerNetwork: 250,
  proxyHeaderMs: 10_000,
};

/** Listens for publishers and players. Rejects with UserError liveListenFailed if a port is unavailable. */
export async function startRtmpServer(deps: RtmpServerDeps): Promise<RtmpServer> {
  const { host, port, secure, connections: maxConnections, limits: limitOverrides } = deps;
  const limits = { ...DEFAULTS, ...limitOverrides };
  const pendingConnections = createPendingConnections({
    maxTotal: limits.maxPending,
    perNetwork: limits.maxPendingPerNetwork,
  });
  const openConnections = new Map<Socket, RtmpConnection>();
  let admittedCount = 0;
  const receive = createProxyReceiver({
    isProxy: deps.isProxy ?? (() => false),
    maxPending: limits.maxPending,
    headerMs: limits.proxyHeaderMs,
    onRefused: (proxy, reason) =>
      deps.log.info({ proxy, reason }, "rtmp: no valid PROXY header received from an address listed in live.proxies"),
  });

  function acceptConnection(
    rawSocket: Socket,
    tls: Pick<TlsSource, "context"> | undefined,
    client: { ip: string } | undefined,
  ) {
    const address = client?.ip ?? unmappedAddress(rawSocket.remoteAddress);
    rawSocket.setNoDelay(true);
    const socket =
      tls === undefined
        ? // Octets after the PROXY header may already be in the socket's buffer.
          deps.isProxy?.(rawSocket.remoteAddress)
          ? rawSocket
          : reuseReadBuffer(rawSocket)
        : new TLSSocket(rawSocket, {
            isServer: true,
            secureContext: tls.context(),
            SNICallback: (name, done) => done(null, tls.context(name)),
          });
    // Destroying only the TLS layer leaves the socket open if its handshake has not begun.
    const destroy = () => {
      socket.destroy();
      rawSocket.destroy();
    };
    rawSocket.on("error", destroy);
    let deadline: NodeJS.Timeout | undefined;
    let leavePending = () => {};

    /** Counts as pending until the client sends `publish` or `play`. */
    function awaitAdmission() {
      if (socket.destroyed) return;
      socket.setTimeout(limits.admissionMs);
      deadline = setTimeout(destroy, limits.admissionMs).unref();
      leavePending = pendingConnections.add(address, destroy);
    }

    function endPending() {
      clearTimeout(deadline);
      leavePending();
    }

    function admit() {
      if (admittedCount >= maxConnections) throw tooManyConnections(maxConnections);
      admittedCount++;
      endPending();
      socket.setTimeout(limits.idleMs);
      return () => void admittedCount--;
    }

    awaitAdmission();
    openConnections.set(
      socket,
      createRtmpConnection({
        ...deps,
        socket,
        address,
        protocol: tls === undefined ? "rtmp" : "rtmps",
        admit,
        onIdle: awaitAdmission,
      }),
    );
    socket.once("close", () => {
      endPending();
      openConnections.delete(socket);
      rawSocket.destroy();
    });
  }

  const servers: Server[] = [];
  async function listen(listenPort: number, tls?: Pick<TlsSource, "context">): Promise<number> {
    const server = createServer((socket) => receive(socket, (client) => acceptConnection(socket, tls, client)));
    await new Promise<void>((resolve, reject) => {
      server.once("error", (err) =>
        reject(streamErrors.liveListenFailed({ port: listenPort, host, reason: messageOf(err) }, { cause: err })),
      );
      server.listen({ host, port: listenPort }, resolve);
    });
    server.on("error", (err) => deps.log.error({ err }, "rtmp: failed to accept a connection"));
    servers.push(server);
    return (server.address() as AddressInfo).port;
  }

  async function close() {
    const serverCloses = servers.map((server) => new Promise<void>((resolve) => void server.close(() => resolve())));
    for (const connection of openConnections.values()) connection.end(streamErrors.liveShuttingDown());
    await Promise.all(serverCloses);
  }

  try {
    const plainPort = port === undefined ? undefined : await listen(port);
    const securePort = secure === undefined ? undefined : await listen(secure.port, secure.tls);
    return {
      port: plainPort,
      securePort,
      load: () => ({ admitted: admittedCount, waiting: pendingConnections.size }),
      close,
    };
  } catch (err) {
    await close();
    throw err instanceof UserError
      ? err
      : streamErrors.liveListenFailed({ port, host, reason: messageOf(err) }, { cause: err });
  }
}
