import type { Socket } from "node:net";
import { networkOf, type NetworkSet } from "./networks.ts";

export interface ConnectionLimits {
  /** Maximum number of open connections in total. */
  total: number;
  /** Maximum per IPv4 address or IPv6 /64. */
  perNetwork: number;
  /** Reverse proxies, which connect on behalf of many clients. Only the total limit applies to them. */
  shared?: NetworkSet;
}

interface ConnectionCount {
  /** Counts a connection until it closes. Returns the limit that it would exceed, or undefined if it is admitted. */
  admit(socket: Socket): "total" | "network" | undefined;
  readonly open: number;
}

export function createConnectionCount({ total, perNetwork, shared = () => false }: ConnectionLimits): ConnectionCount {
  const byNetwork = new Map<string, number>();
  let openCount = 0;

  return {
    get open() {
      return openCount;
    },
    admit(socket) {
      const ip = socket.remoteAddress ?? "";
      if (openCount >= total) return "total";
      const network = shared(ip) ? undefined : networkOf(ip);
      const ownCount = network === undefined ? 0 : (byNetwork.get(network) ?? 0);
      if (ownCount >= perNetwork) return "network";
      openCount++;
      if (network !== undefined) byNetwork.set(network, ownCount + 1);
      socket.once("close", () => {
        openCount--;
        if (network === undefined) return;
        const left = byNetwork.get(network)! - 1;
        if (left === 0) byNetwork.delete(network);
        else byNetwork.set(network, left);
      });
      return undefined;
    },
  };
}
