import { isIP, type LookupFunction } from "node:net";
import { systemLookup, type AddressLookup } from "../../../kernel/guarded-fetch.ts";
import { isLoopbackAddress, isNonPublicAddress, type NetworkSet } from "../../../kernel/networks.ts";
import { createOwnAddresses } from "../../../kernel/own-addresses.ts";
import { OutputError } from "./output-error.ts";

export interface AddressRules {
  /** Also allow loopback, private and link-local addresses, and those of this machine. */
  allowPrivate: boolean;
  /** Addresses of this machine. Default: its interface addresses. */
  ownAddresses?: NetworkSet;
  /** Default: the system resolver. */
  lookup?: AddressLookup;
}

const MAX_ADDRESSES = 8;

/**
 * Resolves the permitted addresses of a host. Checked for each connection, which uses only these addresses. Rejects
 * with OutputError.
 */
export async function resolveOutputHost(
  host: string,
  { allowPrivate, ownAddresses = createOwnAddresses().has, lookup = systemLookup }: AddressRules,
): Promise<string[]> {
  const resolvedAddresses =
    isIP(host) !== 0
      ? [host]
      : await lookup(host).catch((err: unknown) => {
          throw new OutputError(`the host name ${host} cannot be resolved`, { cause: err });
        });
  const usable = resolvedAddresses.filter(
    (address) =>
      isIP(address) !== 0 &&
      (allowPrivate || !(isLoopbackAddress(address) || isNonPublicAddress(address) || ownAddresses(address))),
  );
  if (usable.length === 0)
    throw new OutputError(`${host} does not resolve to a public IP address (stream.allow_private)`);
  return usable.slice(0, MAX_ADDRESSES);
}

/** Replaces the resolver in `connect`. */
export function pinned(addresses: readonly string[]): LookupFunction {
  const lookupAddresses = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_, { all }, done) =>
    setImmediate(() =>
      all === true ? done(null, lookupAddresses) : done(null, lookupAddresses[0]!.address, lookupAddresses[0]!.family),
    );
}
