import { isIP } from "node:net";
import type { Basics } from "../../kernel/basics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Store } from "../../store/index.ts";
import type { Lookups, Zones } from "../../zones/index.ts";
import type { TenantHost, TenantHosts } from "../../certificates/index.ts";
import { createPublishedSts, type PublishedStsOptions } from "./published.ts";

interface MtaStsSetupDeps {
  store: Pick<Store, "db" | "events">;
  settings: Pick<Settings, "email" | "http" | "tls">;
  zones: Zones;
  lookups: Pick<Lookups, "resolve">;
  /** True if this process updates the records of all zones at startup. */
  updatesRecords: boolean;
  tlsReportUri: PublishedStsOptions["reportTo"];
}

/** The MTA-STS policies of routed domains. */
export interface MtaSts {
  /** Returns the policy that `host` serves; undefined if it is not the policy host of a routed domain. */
  policyOf(host: string): Promise<string | undefined>;
  /** Policy hosts that need a certificate: their CNAME record points to this server. */
  hosts: TenantHosts;
}

/** Maximum number of policy hosts that get a certificate. */
const LIMITS = { total: 500, perAccount: 100 };
/** Maximum number of policy hosts among which `select` chooses. */
const MAX_CANDIDATES = 100_000;
/** Number of hosts that are looked up at the same time. */
const BATCH = 50;

/** Publishes policies in the mode set in `email.mta_sts` if this server is reachable over HTTPS. */
export function setUpMtaSts(
  {
    store: { db, events },
    settings: { email, http, tls },
    zones,
    lookups,
    updatesRecords,
    tlsReportUri,
  }: MtaStsSetupDeps,
  { log, lifecycle }: Basics,
): MtaSts {
  const isOffered = tls.https || http.public_url.startsWith("https://");
  const webHost = publicHost(http.public_url) ?? email.mx[0]!;
  const published = createPublishedSts({
    db,
    events,
    zones,
    log,
    mode: isOffered ? email.mta_sts : "off",
    mx: email.mx,
    webHost,
    reportTo: tlsReportUri,
  });
  lifecycle.onStop("MTA-STS", () => published.close());
  if (updatesRecords)
    published.sweep().catch((err: unknown) => log.error({ err }, "mta-sts: failed to update the records of zones"));

  return {
    policyOf: (host) => published.policyOf(host.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "")),
    async hosts(select) {
      const hosts = select(await published.hosts(MAX_CANDIDATES), LIMITS);
      const pointsHere = ({ host }: TenantHost) =>
        lookups.resolve(host, "CNAME").then(
          ([target]) => target === webHost,
          () => false,
        );
      const pointingHosts: TenantHost[] = [];
      for (let start = 0; start < hosts.length; start += BATCH) {
        const batch = hosts.slice(start, start + BATCH);
        const pointsHereFlags = await Promise.all(batch.map(pointsHere));
        pointingHosts.push(...batch.filter((_, index) => pointsHereFlags[index]));
      }
      return pointingHosts;
    },
  };
}

function publicHost(url: string): string | undefined {
  const host = url === "" ? "" : new URL(url).hostname;
  return host === "" || host === "localhost" || isIP(host.replace(/^\[|\]$/g, "")) ? undefined : host;
}
