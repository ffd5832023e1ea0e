import type { TenantHosts } from "../certificates/index.ts";
import type { Settings } from "../kernel/settings.ts";
import type { Workers } from "../workers/index.ts";
import type { Lookups } from "../zones/index.ts";
import { publicHostOf } from "./routing-zones.ts";

/** Maximum number of custom domains that get a certificate. */
const LIMITS = { total: 1000, perAccount: 200 };
/** Number of hosts that are looked up at the same time. */
const BATCH = 50;

interface CustomDomainHostsDeps {
  domains: Pick<Workers["routing"]["domains"], "enabledHosts">;
  settings: Pick<Settings, "http">;
  lookups: Pick<Lookups, "resolve" | "resolve4" | "resolve6">;
}

/**
 * Returns the function that selects the custom domains that get a certificate: those whose names resolve to this
 * server. Orders for other domains would fail and count against the rate limits of the certificate authority.
 */
export function createCustomDomainHosts({ domains, settings, lookups }: CustomDomainHostsDeps): TenantHosts {
  const emptyOnError = <Item>(items: Promise<Item[]>): Promise<Item[]> => items.catch(() => []);
  const addressesOf = async (host: string) => [
    ...(await emptyOnError(lookups.resolve4(host))),
    ...(await emptyOnError(lookups.resolve6(host))),
  ];

  return async (select) => {
    const webHost = publicHostOf(settings.http.public_url);
    const hosts = select(await domains.enabledHosts(), LIMITS);
    if (webHost === undefined || hosts.length === 0) return [];
    const ownAddresses = await addressesOf(webHost);
    const resolvesToServer = async (host: string) =>
      (await emptyOnError(lookups.resolve(host, "CNAME"))).includes(webHost) ||
      // At the apex of a zone, the DNS server returns addresses instead of the CNAME.
      (await addressesOf(host)).some((address) => ownAddresses.includes(address));
    const resolvingHosts: typeof hosts = [];
    for (let start = 0; start < hosts.length; start += BATCH) {
      const batch = hosts.slice(start, start + BATCH);
      const resolveToServer = await Promise.all(batch.map(({ host }) => resolvesToServer(host)));
      resolvingHosts.push(...batch.filter((_, index) => resolveToServer[index]));
    }
    return resolvingHosts;
  };
}
