import type { Server, Socket } from "node:net";
import { Server as TlsServer } from "node:tls";
import { unmappedAddress, type NetworkSet } from "../networks.ts";
import { readProxied } from "./read-header.ts";

/** The client behind a load balancer, as given in the PROXY header. */
interface ProxiedClient {
  ip: string;
  port: number;
}

interface ProxyReceiverOptions {
  /** Load balancers, whose connections must all begin with a PROXY header. */
  isProxy: NetworkSet;
  /** Maximum number of connections whose header has not arrived. Default 1000. */
  maxPending?: number;
  /** Time limit for the header in milliseconds. Default 10,000. */
  headerMs?: number;
  /** Called after a connection was closed because its header was missing, late or invalid. */
  onRefused(proxy: string, reason: string): void;
}

/**
 * Calls `accept` with the client from the header; without an argument for connections of the proxy itself, such as
 * health checks.
 */
export type ProxyReceiver = (socket: Socket, accept: (client?: ProxiedClient) => void) => void;

/**
 * Reads the PROXY header of connections from proxies. Connections from other peers are accepted unchanged. A connection
 * with a missing, late or invalid header is closed without a reply.
 */
export function createProxyReceiver({
  isProxy,
  maxPending = 1000,
  headerMs = 10_000,
  onRefused,
}: ProxyReceiverOptions): ProxyReceiver {
  let pendingCount = 0;

  return (socket, accept) => {
    if (!isProxy(socket.remoteAddress)) return accept();
    const proxy = unmappedAddress(socket.remoteAddress);
    if (pendingCount >= maxPending) {
      socket.on("error", () => {}).destroy();
      return onRefused(proxy, `${maxPending} connections are waiting for their header`);
    }
    pendingCount++;
    readProxied(socket, headerMs, (err, client) => {
      pendingCount--;
      if (err === undefined) accept(client);
      else onRefused(proxy, err.message);
    });
  };
}

/**
 * Makes an HTTP or HTTPS server read PROXY headers before anything else. The sockets of its requests then have the
 * address and port of the client. Call it after all other listeners of "connection" have been added.
 */
export function enableProxyProtocol(server: Server, receive: ProxyReceiver): void {
  const listeners = server.listeners("connection");
  const accept = (socket: Socket) => {
    for (const listener of listeners) listener.call(server, socket);
  };
  // The TLS socket wraps this one, and reads its addresses from the operating system.
  const clients = new Map<string, ProxiedClient>();
  const isTls = server instanceof TlsServer;

  server.removeAllListeners("connection").on("connection", (socket: Socket) =>
    receive(socket, (client) => {
      if (socket.destroyed) return;
      if (client !== undefined) {
        if (isTls) {
          const key = connectionKey(socket);
          clients.set(key, client);
          socket.once("close", () => clients.delete(key));
        }
        setPeer(socket, client);
      }
      accept(socket);
    }),
  );
  if (isTls)
    server.prependListener("secureConnection", (socket: Socket) => {
      const client = clients.get(connectionKey(socket));
      if (client !== undefined) setPeer(socket, client);
    });
}

/** Identifies an open connection of a server by the addresses of both ends. */
const connectionKey = ({ remoteAddress, remotePort, localAddress, localPort }: Socket) =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;

function setPeer(socket: Socket, { ip, port }: ProxiedClient): void {
  Object.defineProperties(socket, {
    remoteAddress: { value: ip, configurable: true },
    remotePort: { value: port, configurable: true },
    remoteFamily: { value: ip.includes(":") ? "IPv6" : "IPv4", configurable: true },
  });
}
