import type { Basics } from "../../kernel/basics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Store } from "../../store/index.ts";
import type { Zones } from "../../zones/index.ts";
import { createDmarcReporting, type DmarcReporting, type DmarcReportingOptions } from "./reports.ts";

interface DmarcReportingSetupDeps {
  store: Pick<Store, "db" | "events">;
  settings: Pick<Settings, "email">;
  zones: Zones;
  lookups: Pick<DmarcReportingOptions, "resolveTxt">;
}

/** DMARC and TLS reports about zones, received at the forward domain. */
export function setUpDmarcReporting(
  { store: { db, events }, settings: { email }, zones, lookups }: DmarcReportingSetupDeps,
  { clock, ids, log, lifecycle }: Basics,
): DmarcReporting {
  const reports = createDmarcReporting({
    db,
    events,
    zones,
    clock,
    ids,
    domain: email.forward_domain.toLowerCase(),
    resolveTxt: lookups.resolveTxt,
    log,
  });
  lifecycle.onStop("DMARC reports", () => reports.close());
  reports
    .deleteOrphans()
    .catch((err: unknown) =>
      log.warn({ err }, "dmarc-reports: failed to delete data of deleted zones, will retry at the next start"),
    );
  return reports;
}
