import type { Clock } from "../../kernel/index.ts";
import { emptyReply, RCODE, type DnsReply } from "../../protocol/dns/index.ts";
import { createAddressCache, type AddressType, type LookUpAddresses } from "./address-cache.ts";
import { findName, type NodeSet, recordSet } from "./nodes.ts";
import type { ServedZones } from "./served.ts";

/**
 * Answers a CNAME with the addresses of its target; `createNoneReply` builds the answer if the target has no addresses.
 */
export type Flatten = (
  name: string,
  alias: NodeSet,
  type: AddressType,
  createNoneReply: () => DnsReply,
) => Promise<DnsReply>;

interface FlattenDeps {
  zones: ServedZones;
  clock: Clock;
  /** Without it, the target of a CNAME at the apex must be a name on this server. */
  lookUp?: LookUpAddresses | undefined;
}

const MAX_CHAIN_LENGTH = 8;

export function createFlatten({ zones, clock, lookUp }: FlattenDeps): Flatten {
  const cache = lookUp && createAddressCache({ clock, lookUp });

  // An error instead of an empty answer: resolvers would cache the empty answer, and senders would assume that the
  // domain has no address (RFC 8914 4.1).
  const failureReply = (text: string): DnsReply => emptyReply(RCODE.servFail, { code: 0, text });

  async function flattenOutside(
    name: string,
    host: string,
    alias: NodeSet,
    type: AddressType,
    createNoneReply: () => DnsReply,
  ): Promise<DnsReply> {
    if (cache === undefined)
      return failureReply(
        `The CNAME at ${name} points to ${host}, which this server does not serve, and no resolver is configured.`,
      );
    try {
      const { addresses, ttl } = await cache(host, type);
      if (addresses.length === 0) return createNoneReply();
      return addressReply(name, {
        type,
        ttl: Math.min(alias.ttl, ttl),
        data: addresses.map((address) => ({ address })),
        flatten: false,
      });
    } catch {
      return failureReply(`Looking up ${host}, the target of the CNAME at ${name}, failed.`);
    }
  }

  return async (name, alias, type, createNoneReply) => {
    let target = alias.data[0]!.target as string;
    let ttl = alias.ttl;
    for (let hop = 0; hop < MAX_CHAIN_LENGTH; hop++) {
      const owner = await zones.find(target);
      if (owner === undefined) return flattenOutside(name, target, { ...alias, ttl }, type, createNoneReply);
      const place = await findName(zones, owner, target);
      if (place.kind === "delegated") return flattenOutside(name, target, { ...alias, ttl }, type, createNoneReply);
      if (place.kind === "absent") return createNoneReply();
      const set = place.node.get(type);
      if (set !== undefined) return addressReply(name, { ...set, ttl: Math.min(ttl, set.ttl) });
      const next = place.node.get("CNAME");
      if (next === undefined) return createNoneReply();
      target = next.data[0]!.target as string;
      ttl = Math.min(ttl, next.ttl);
    }
    return failureReply(`The CNAME at ${name} is part of a loop or a chain that is too long.`);
  };
}

const addressReply = (name: string, set: NodeSet): DnsReply => ({
  ...emptyReply(RCODE.noError),
  authoritative: true,
  answer: [recordSet(name, set)],
});
