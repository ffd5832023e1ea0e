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
  /** Host name of this server, the target of the records. If undefined, no records are created. */
  webHost: string | undefined;
}

/** Gives the routes and custom domains of workers access to the zones and their DNS records. */
export function createRoutingZones({ zones, webHost }: RoutingZonesDeps): RoutingZones {
  const { managed } = zones.records;

  /** Address records of the host that do not belong to custom domains. */
  async function conflictingRecordsAt(zone: RoutingZone, host: string) {
    const addressRecords = await managed.at(zone.id, host, ADDRESS_TYPES);
    return addressRecords.filter(
      ({ managedBy, type, content }) => managedBy !== OWNER && !(type === "CNAME" && content === webHost),
    );
  }

  return {
    find: async (id) => zoneOf(await zones.find(id)),
    findEnclosing: async (host) => zoneOf(await zones.byName(host, { enclosing: true })),
    async conflicts(zone, hosts) {
      if (webHost === undefined) return [];
      const conflictingRecords = await Promise.all(hosts.map((host) => conflictingRecordsAt(zone, host)));
      return hosts.filter((_, i) => conflictingRecords[i]!.length > 0);
    },
    async publish(zone, hosts, override) {
      const publishedZone = await zones.find(zone.id);
      if (publishedZone === undefined) return;
      const recordHosts = webHost === undefined ? [] : hosts.filter((host) => host !== webHost);
      const replacedRecords = override
        ? (await Promise.all(recordHosts.map((host) => conflictingRecordsAt(zone, host)))).flat()
        : [];
      await managed.set(publishedZone, {
        owner: OWNER,
        locked: true,
        meta: { read_only: true },
        records: recordHosts.map((host) => ({ type: "CNAME", name: `${host}.`, content: webHost })),
        replacedRecords,
      });
    },
  };
}

const zoneOf = (zone: RoutingZone | undefined): RoutingZone | undefined =>
  zone && { id: zone.id, account: zone.account, name: zone.name };

/** Returns the host name in a public URL. Undefined if other machines cannot resolve it. */
export function publicHostOf(url: string): string | undefined {
  const host = url === "" ? "" : new URL(url).hostname;
  return host === "" || host === "localhost" || isIP(host.replace(/^\[|\]$/g, "")) !== 0 ? undefined : host;
}
