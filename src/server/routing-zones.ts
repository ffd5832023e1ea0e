import { isIP } from "node:net";
import type { createWorkers } from "../workers/index.ts";
import type { Zones } from "../zones/index.ts";

type RoutingZones = Parameters<typeof createWorkers>[0]["zones"];
type RoutingZone = Parameters<RoutingZones["conflicts"]>[0];

/** Owner of the DNS records of custom domains. */
const OWNER = "worker-domains";
const ADDRESS_TYPES = ["A", "AAAA", "CNAME"];

interface RoutingZonesDeps {
  zones: Pick<Zones, "find" | "byName" | "records">;
  /** The host name of this server, the target of the records; undefined: no records are created. */
  webHost: string | undefined;
}

/** Connects routes and custom domains of workers to the zones and their DNS records. */
export function createRoutingZones({ zones, webHost }: RoutingZonesDeps): RoutingZones {
  const { managed } = zones.records;

  /** Address records at the host that are not those of custom domains. */
  async function othersAt(zone: RoutingZone, host: string) {
    const there = await managed.at(zone.id, host, ADDRESS_TYPES);
    return there.filter(
      ({ managedBy, type, content }) => managedBy !== OWNER && !(type === "CNAME" && content === webHost),
    );
  }

  return {
    find: async (id) => zoneOf(await zones.find(id)),
    enclosing: async (host) => zoneOf(await zones.byName(host, { enclosing: true })),
    async conflicts(zone, hosts) {
      if (webHost === undefined) return [];
      const found = await Promise.all(hosts.map((host) => othersAt(zone, host)));
      return hosts.filter((_, i) => found[i]!.length > 0);
    },
    async publish(zone, hosts, override) {
      const found = await zones.find(zone.id);
      if (found === undefined) return;
      const wanted = webHost === undefined ? [] : hosts.filter((host) => host !== webHost);
      const replaced = override ? (await Promise.all(wanted.map((host) => othersAt(zone, host)))).flat() : [];
      await managed.set(found, {
        owner: OWNER,
        locked: true,
        meta: { read_only: true },
        records: wanted.map((host) => ({ type: "CNAME", name: `${host}.`, content: webHost })),
        instead: replaced,
      });
    },
  };
}

const zoneOf = (zone: RoutingZone | undefined): RoutingZone | undefined =>
  zone && { id: zone.id, account: zone.account, name: zone.name };

/** The host name in a public URL that other machines can resolve. */
export function publicHostOf(url: string): string | undefined {
  const host = url === "" ? "" : new URL(url).hostname;
  return host === "" || host === "localhost" || isIP(host.replace(/^\[|\]$/g, "")) !== 0 ? undefined : host;
}
