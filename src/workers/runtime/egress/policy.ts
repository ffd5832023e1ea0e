import { isIP } from "node:net";
import { isLoopbackAddress, isNonPublicAddress, networkSet } from "../../../kernel/networks.ts";
import type { OwnAddresses } from "../../../kernel/own-addresses.ts";
import type { Settings } from "../../../kernel/settings.ts";

/** Destinations that workers may connect to. */
export interface EgressPolicy {
  /** Addresses of this machine: 127.0.0.0/8, ::1 and its interfaces. */
  allowLoopback: boolean;
  /** Private, shared, link-local and other addresses that are not on the public internet. */
  allowPrivate: boolean;
  denyPorts: number[];
  /** Exceptions, which override everything else: `10.1.2.3`, `10.0.0.0/8`, `fd00::/8`. */
  allow: string[];
  /**
   * Addresses of this machine and its own ports, which remain blocked despite exceptions. If absent, only loopback
   * addresses are known.
   */
  own?: Pick<OwnAddresses, "has" | "listensOn">;
}

/** For a developer's own machine, where the services called by the worker often run too. */
export const DEV_EGRESS: EgressPolicy = { allowLoopback: true, allowPrivate: true, denyPorts: [25], allow: [] };

/** Returns the policy of `reelpost serve`: the settings `egress`, with this server's own addresses always blocked. */
export const serveEgress = ({ egress }: Pick<Settings, "egress">, ownAddresses?: OwnAddresses): EgressPolicy => ({
  ...(ownAddresses && { own: ownAddresses }),
  allowLoopback: egress.allow_loopback,
  allowPrivate: egress.allow_private,
  denyPorts: egress.deny_ports,
  allow: egress.allow,
});

/** Returns the policy of `reelpost dev`, with the overrides of the project's configuration. */
export const devEgress = (overrides: Partial<EgressPolicy> = {}): EgressPolicy => ({ ...DEV_EGRESS, ...overrides });

/** Checks a destination. Returns the reason for rejecting the connection; undefined if it is allowed. */
export type EgressCheck = (address: string, port: number) => string | undefined;

export function createEgressCheck(policy: EgressPolicy): EgressCheck {
  const isAllowed = networkSet(
    policy.allow,
    (range) => new TypeError(`egress: ${range} is neither an address nor a range`),
  );
  return (address, port) => {
    // An address set never matches a value that is not an address, and unmatched addresses are allowed.
    if (isIP(address) === 0) return "the destination is not an IP address";
    const isOwn = () => policy.own?.has(address) === true;
    if (policy.own?.listensOn(port) === true && (isLoopbackAddress(address) || isOwn()))
      return `port ${port} of this server is closed to workers`;
    if (isAllowed(address)) return undefined;
    if (policy.denyPorts.includes(port)) return `port ${port} is closed to workers`;
    if (isLoopbackAddress(address))
      return policy.allowLoopback ? undefined : "loopback addresses are closed to workers";
    if (isNonPublicAddress(address) && !policy.allowPrivate)
      return "private and special addresses are closed to workers";
    if (!policy.allowLoopback && isOwn()) return "addresses of this server are closed to workers";
    return undefined;
  };
}
