import type { Settings } from "../kernel/settings.ts";
import type { Workers } from "../workers/index.ts";
import type { Lookups } from "../zones/index.ts";
import { publicHostOf } from "./routing-zones.ts";

/** Maximum number of custom domains that get a certificate. */
const MAX_HOSTS = 200;

interface CustomDomainHostsDeps {
  domains: Pick<Workers["routing"]["domains"], "hostnames">;
  settings: Pick<Settings, "http">;
  lookups: Pick<Lookups, "resolve" | "resolve4" | "resolve6">;
}

/**
 * The custom domains that get a certificate, which are those whose names resolve to this server. Orders for other
 * domains would fail and count against the rate limits of the certificate authority.
 */
export async function customDomainHosts({ domains, settings, lookups }: CustomDomainHostsDeps): Promise<string[]> {
  const webHost = publicHostOf(settings.http.public_url);
  const hosts = await domains.hostnames(MAX_HOSTS);
  if (webHost === undefined || hosts.length === 0) return [];
  const emptyOnError = <Item>(items: Promise<Item[]>): Promise<Item[]> => items.catch(() => []);
  const addressesOf = async (host: string) => [
    ...(await emptyOnError(lookups.resolve4(host))),
    ...(await emptyOnError(lookups.resolve6(host))),
  ];
  const ownAddresses = await addressesOf(webHost);
  const resolvesToServer = async (host: string) =>
    (await emptyOnError(lookups.resolve(host, "CNAME"))).includes(webHost) ||
    // At the apex of a zone, the DNS server returns addresses instead of the CNAME.
    (await addressesOf(host)).some((address) => ownAddresses.includes(address));
  const resolveToServer = await Promise.all(hosts.map(resolvesToServer));
  return hosts.filter((_, index) => resolveToServer[index]);
}
