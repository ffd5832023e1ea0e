import { networkInterfaces } from "node:os";
import { networkSet, type NetworkSet } from "./networks.ts";

/**
 * Services on this machine may trust connections from its own addresses: mail from them passes SPF for every domain
 * served here. Connections made on behalf of users to these addresses are refused.
 */
export interface OwnAddresses {
  /** True for interface addresses and for those listed in the settings. */
  has: NetworkSet;
  /** True if this server listens on the port for anything except public HTTP. */
  listensOn(port: number): boolean;
  /** Adds a bound port, which the system chooses if the settings have port 0. */
  listening(port: number): void;
}

interface OwnAddressesOptions {
  /** Addresses and ranges that reach this machine but are not on its interfaces: 1:1 NAT, a load balancer. */
  addresses?: readonly string[];
  ports?: readonly number[];
  /** How long the interface addresses are cached. Default 2 s. */
  cacheMs?: number;
}

/** Re-reads the interfaces when the cache expires: addresses change while a server runs. */
export function createOwnAddresses({
  addresses = [],
  ports = [],
  cacheMs = 2000,
}: OwnAddressesOptions = {}): OwnAddresses {
  const ownPorts = new Set(ports.filter((port) => port > 0));
  const named = networkSet(
    addresses,
    (range) => new TypeError(`network.own_addresses: ${range} is neither an address nor a range`),
  );
  let interfaceCache: { at: number; has: NetworkSet } | undefined;

  function isInterfaceAddress(ip: string | undefined): boolean {
    const at = performance.now();
    if (interfaceCache === undefined || at - interfaceCache.at >= cacheMs)
      interfaceCache = { at, has: interfaceAddresses() };
    return interfaceCache.has(ip);
  }

  return {
    has: (ip) => named(ip) || isInterfaceAddress(ip),
    listensOn: (port) => ownPorts.has(port),
    listening: (port) => void ownPorts.add(port),
  };
}

/** A network set compares values: an address has many notations (`[::ffff:cb00:7107]`). */
function interfaceAddresses(): NetworkSet {
  const addresses = Object.values(networkInterfaces()).flatMap((all = []) =>
    all.map(({ address }) => address.replace(/%.*$/, "")),
  );
  return networkSet(
    addresses,
    (address) => new TypeError(`a network interface reports the invalid address ${address}`),
  );
}
