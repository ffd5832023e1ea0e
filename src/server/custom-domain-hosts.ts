import type { Settings } from "../kernel/settings.ts";
import type { Workers } from "../workers/index.ts";
import type { Lookups } from "../zones/index.ts";
import { publicHostOf } from "./routing-zones.ts";

/** Maximum number of custom domains that get a certificate. */
const MAX_HOSTS = 200;

interface Deps {
  domains: Pick<Workers["routing"]["domains"], "hostnames">;
  settings: Pick<Settings, "http">;
  lookups: Pick<Lookups, "resolve" | "resolve4" | "resolve6">;
}

/**
 * The custom domains that need a certificate: their names lead to this server. Orders for others would fail and count
 * against the limits of the certificate authority.
 */
export async function customDomainHosts({ domains, settings, lookups }: Deps): Promise<string[]> {
  const webHost = publicHostOf(settings.http.public_url);
  const hosts = await domains.hostnames(MAX_HOSTS);
  if (webHost === undefined || hosts.length === 0) return [];
  const orNone = <Found>(found: Promise<Found[]>): Promise<Found[]> => found.catch(() => []);
  const addressesOf = async (host: string) => [
    ...(await orNone(lookups.resolve4(host))),
    ...(await orNone(lookups.resolve6(host))),
  ];
  const own = await addressesOf(webHost);
  const leadsHere = async (host: string) =>
    (await orNone(lookups.resolve(host, "CNAME"))).includes(webHost) ||
    // At the apex of a zone, the DNS server answers with the addresses.
    (await addressesOf(host)).some((address) => own.includes(address));
  const results = await Promise.all(hosts.map(leadsHere));
  return hosts.filter((_, index) => results[index]);
}
