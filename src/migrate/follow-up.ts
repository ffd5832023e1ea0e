import type { Context } from "./context.ts";
import type { SourceZone } from "./kinds/zone.ts";
import type { FollowUp } from "./port.ts";
import { apiPath, collect, readNumberedPages, resultIfFound } from "./requests.ts";

interface NeededRecord {
  type: string;
  name: string;
  content: string;
  priority?: number;
}

/** In seconds. DNS answers with a longer TTL would delay the switch. */
const SHORT_TTL = 300;

/** Plans the DNS changes that move each zone to the target, in order: TTLs first. */
export async function planFollowUp(context: Context, zones: readonly SourceZone[]): Promise<FollowUp["dns"]> {
  const { source, target, ids } = context;
  const dns: FollowUp["dns"] = [];
  for (const zone of zones) {
    const id = ids.find("zone", zone.id);
    if (id === undefined) continue;
    const [records, imported, needed] = await Promise.all([
      collect(
        readNumberedPages<{ type: string; ttl?: number }>(source.api, apiPath`/zones/${zone.id}/dns_records`, {
          perPage: 100,
        }),
      ),
      resultIfFound<SourceZone>(target.api, apiPath`/zones/${id}`),
      resultIfFound<NeededRecord[] | { record?: NeededRecord[] }>(target.api, apiPath`/zones/${id}/email/routing/dns`),
    ]);
    const longest = Math.max(0, ...records.map(({ ttl = 1 }) => ttl));
    const nameServers = imported?.name_servers ?? [];
    const mail = (Array.isArray(needed) ? needed : (needed?.record ?? [])).filter(({ type }) => type === "MX");
    dns.push({
      zone: zone.name,
      steps: [
        ...(longest > SHORT_TTL
          ? [
              `At the current DNS provider, set the TTL of all records to ${SHORT_TTL} seconds, then wait ${longest} seconds, the longest of the previous TTLs`,
            ]
          : []),
        "Run the import again, so that the latest changes are included",
        ...(nameServers.length > 0
          ? [
              `At the registrar, remove the DS record if there is one, then replace the name servers with ${nameServers.join(" and ")}`,
            ]
          : []),
        ...mail.map(
          ({ name, content, priority }) =>
            `If the zone stays with another DNS provider, replace the MX records of ${name} with: ${priority ?? 10} ${content}`,
        ),
        `Check the result: reelpost doctor ${zone.name}`,
      ],
    });
  }
  return dns;
}
