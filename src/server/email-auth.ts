import { doctorRoutes, emailAuthRoutes, type Route } from "../api/index.ts";
import type { Settings } from "../kernel/settings.ts";
import type { TlsSource } from "../kernel/tls-source.ts";
import { createDmarcReporting, type DmarcReporting, type EmailRouting, type OutboundService } from "../mail/index.ts";
import type { Zones } from "../zones/index.ts";
import type { Basics, Store } from "./compose.ts";
import type { ServeDns } from "./dns.ts";
import { createDoctor } from "./doctor/doctor.ts";
import type { Finding } from "./doctor/finding.ts";
import type { ServiceKeys } from "./forwarding.ts";

export interface EmailAuthParts {
  store: Pick<Store, "db" | "events">;
  settings: Settings;
  zones: Zones;
  routing: EmailRouting;
  dns: ServeDns;
  tls: TlsSource;
  reports: DmarcReporting;
  service: Pick<ServiceKeys, "records">;
  outbound: Pick<OutboundService, "pausesOf">;
  confinement(): Promise<Finding[]>;
}

/** Where receivers report what came in the name of a zone. */
export function composeDmarcReporting(
  {
    store: { db, events },
    settings,
    zones,
    dns: { lookups },
  }: Pick<EmailAuthParts, "store" | "settings" | "zones" | "dns">,
  { clock, ids, log, lifecycle }: Basics,
): DmarcReporting {
  const reports = createDmarcReporting({
    db,
    events,
    zones,
    clock,
    ids,
    domain: settings.email.forward_domain.toLowerCase(),
    resolveTxt: lookups.resolveTxt,
    log,
  });
  lifecycle.onStop("DMARC reports", () => reports.close());
  reports
    .tidy()
    .catch((err: unknown) =>
      log.warn(
        { err },
        "what was kept for the DMARC reports of deleted zones could not be removed; the next start tries again",
      ),
    );
  return reports;
}

/** Operations on what the world's DNS says of who may send in the name of a zone, and on what it lacks. */
export function emailAuthApi(
  { settings, zones, routing, dns, tls, reports, service, outbound, confinement }: Omit<EmailAuthParts, "store">,
  { clock }: Basics,
): Route[] {
  const { lookups, world, watch, pusher, byHand } = dns;
  const diagnose = createDoctor({
    settings,
    routing,
    service,
    lookups,
    world,
    watch,
    pusher,
    byHand,
    outbound,
    confinement,
    tls,
    clock,
  });
  return [
    ...emailAuthRoutes({ zones, reports, clock, resolveTxt: lookups.resolveTxt }),
    ...doctorRoutes({ zones, diagnose }),
  ];
}
