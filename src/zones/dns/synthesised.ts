import { type RecordSet, SOA_TIMES, typeNumber } from "../../protocol/dns/index.ts";
import type { Node, NodeSet } from "./nodes.ts";
import type { ServedZone } from "./served.ts";

const NS_TTL = 86_400;
const HINFO = 13;

/** Returns the SOA record. A zone without name servers has its own name as the primary. */
export const soaSet = (zone: ServedZone, ttl: number = SOA_TIMES.ttl): RecordSet => ({
  name: zone.name,
  type: typeNumber("SOA"),
  ttl,
  data: [
    (out) => {
      out.name(zone.nameServers[0] ?? zone.name, true);
      out.name(`hostmaster.${zone.name}`, true);
      // RFC 1982: serials wrap.
      out.u32(zone.serial % 2 ** 32);
      for (const seconds of [SOA_TIMES.refresh, SOA_TIMES.retry, SOA_TIMES.expire, SOA_TIMES.minimum]) out.u32(seconds);
    },
  ],
});

/** RFC 8482 4.2: a minimal answer to ANY. */
export const anySet = (name: string): RecordSet => ({
  name,
  type: HINFO,
  ttl: 3600,
  data: [
    (out) => {
      out.u8(7);
      out.bytes(Buffer.from("RFC8482"));
      out.u8(0);
    },
  ],
});

/** Returns the records at the apex, including the zone's name servers. */
export function apexNode({ nameServers }: ServedZone, node: Node): Node {
  if (nameServers.length === 0) return node;
  const existingSet = node.get("NS");
  const targets = new Set([...nameServers, ...(existingSet?.data ?? []).map(({ target }) => target as string)]);
  const set: NodeSet = {
    type: "NS",
    ttl: existingSet?.ttl ?? NS_TTL,
    data: [...targets].map((target) => ({ target })),
    flatten: false,
  };
  return new Map([...node, ["NS", set]]);
}
