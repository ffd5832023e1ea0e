import type { Basics } from "../../kernel/basics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Store } from "../../store/index.ts";
import type { Zone, Zones } from "../../zones/index.ts";
import { mxHosts } from "../names.ts";
import type { EmailRouting, RecordVerifier } from "../routing/index.ts";
import { createSendingDomains } from "./domains.ts";
import { createSending, type SendingDeps } from "./sending.ts";
import type { Sending, SendingDomains } from "./types.ts";

const SWEEP_INTERVAL_MS = 10 * 60_000;

/** Returns a function that resolves with true if Email Routing is enabled for a name of the zone. */
const routedNames =
  (settings: EmailRouting["settings"]) =>
  async (zone: Zone, name: string): Promise<boolean> => {
    const { enabled, subdomains } = await settings.of(zone);
    return name === zone.name ? enabled : subdomains.some((one) => one.name === name && one.enabled);
  };

interface SendingDomainsSetupDeps {
  store: Pick<Store, "db" | "events">;
  settings: Pick<Settings, "email">;
  zones: Zones;
  routing: Pick<EmailRouting, "settings" | "dkimKeys">;
  /** Compares records with public DNS. Default: the records in the zones are trusted. */
  verifier?: RecordVerifier;
}

/** Sets up the domains that accounts may send from. */
export function setUpSendingDomains(
  { store: { db, events }, settings: { email }, zones, routing, verifier }: SendingDomainsSetupDeps,
  { clock, ids, log, lifecycle }: Basics,
): SendingDomains {
  const domains = createSendingDomains({
    db,
    events,
    clock,
    ids,
    zones,
    dkimKeys: routing.dkimKeys,
    isRouted: routedNames(routing.settings),
    log,
    ...(verifier && { verifier }),
    hosts: { mx: mxHosts(email), spfInclude: email.spf_include, label: email.sending_label, dmarc: email.dmarc },
  });
  lifecycle.onStop("sending domains", () => domains.close());
  domains
    .deleteOrphans()
    .catch((err: unknown) =>
      log.warn({ err }, "sending: failed to delete domains of deleted zones, will retry at the next start"),
    );
  return domains;
}

interface SendingSetupDeps extends Pick<
  SendingDeps,
  "zones" | "domains" | "suppressions" | "bounces" | "signer" | "spool" | "trace" | "storeSent"
> {
  store: Pick<Store, "db" | "sweeps" | "limits">;
  settings: Pick<Settings, "email">;
  routing: Pick<EmailRouting, "settings" | "addresses" | "dkimKeys">;
  outbound: { relayThenQueue: SendingDeps["transport"]; queue: SendingDeps["queue"] };
}

/** Sets up the single path for all outgoing account mail, with the limits from the `email` settings. */
export function setUpSending(
  { store: { db, sweeps, limits }, settings: { email }, routing, outbound, ...deps }: SendingSetupDeps,
  { clock, ids, log, lifecycle }: Basics,
): Sending {
  const sending = createSending({
    ...deps,
    db,
    clock,
    ids,
    transport: outbound.relayThenQueue,
    queue: outbound.queue,
    dkimKeys: routing.dkimKeys,
    isRouted: routedNames(routing.settings),
    isVerified: routing.addresses.isVerified,
    rateLimits: limits,
    limits: { perDay: email.daily_limit, perMinute: email.minute_limit },
  });
  const sweeper = sweeps.every(SWEEP_INTERVAL_MS, sending.sweep, { name: "sending: sweep of message counts", log });
  lifecycle.onStop("sending", () => sweeper.stop());
  return sending;
}
