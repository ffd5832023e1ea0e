import { emailSendingRoutes, type Route } from "../api/index.ts";
import type { Settings } from "../kernel/settings.ts";
import {
  createSendEmailBinding,
  createSending,
  createSendingDomains,
  createSuppressions,
  type BounceList,
  type DkimPublisher,
  type EmailRouting,
  type RecordVerifier,
  type ReturnsService,
  type Sending,
  type SendingDomains,
  type SendingParts,
  type Signer,
  type Spool,
  type Suppressions,
  type Trace,
  type Transport,
} from "../mail/index.ts";
import type { SendEmailPort } from "../workers/index.ts";
import type { Zone, Zones } from "../zones/index.ts";
import type { Basics, Store } from "./compose.ts";
import { mxHosts } from "./mail-names.ts";

const SWEEP_MS = 10 * 60_000;
/** Of one sweep: what is left waits for the next. */
const ROUNDS = 20;

/** Whom accounts do not write to: bounces add to it (it is a BounceList), and sending asks it. To be made before what comes back of mail. */
export function composeSuppressions(
  { db }: Pick<Store, "db">,
  { clock, ids, log, lifecycle }: Basics,
): Suppressions & BounceList {
  const suppressions = createSuppressions({ db, clock, ids });
  async function sweep() {
    for (let round = 0; round < ROUNDS && (await suppressions.sweep()) > 0; round++) continue;
  }
  const timer = setInterval(
    () =>
      void sweep().catch((err: unknown) =>
        log.warn({ err }, "suppressions that are over could not be deleted; it is tried again"),
      ),
    SWEEP_MS,
  ).unref();
  lifecycle.onStop("suppressions", () => clearInterval(timer));
  return suppressions;
}

export interface ServeSendingParts {
  store: Pick<Store, "db" | "events">;
  settings: Settings;
  zones: Zones;
  routing: Pick<EmailRouting, "settings" | "addresses" | "dkimKeys">;
  suppressions: Suppressions;
  /** Delivers while the caller waits, and keeps what is put off; and the one that only keeps. */
  outbound: { relayThenQueue: Transport; queue: Transport };
  returns: Pick<ReturnsService, "pathFor" | "pathsFor" | "noteRefused">;
  signer: Signer;
  spool: Spool;
  trace: Trace;
  /** What resolvers see. Default: what the zones say is believed. */
  verifier?: RecordVerifier;
  /** Keeps what was sent, for a look at it afterwards. */
  keep?: SendingParts["keep"];
}

export interface ServeSending {
  sending: Sending;
  domains: SendingDomains;
  /** What `env.X.send()` of deployed workers does. */
  binding: SendEmailPort;
  /** For the rotation of DKIM keys. */
  publisher: DkimPublisher;
  routes: Route[];
}

/** The one way in which mail of accounts leaves, and the names it may come from. */
export function composeSending(parts: ServeSendingParts, { clock, ids, log, lifecycle }: Basics): ServeSending {
  const {
    store: { db, events },
    settings: { email },
    zones,
    routing,
    suppressions,
    outbound,
    returns,
    signer,
    spool,
    trace,
    verifier,
    keep,
  } = parts;
  const { dkimKeys } = routing;

  async function isRouted(zone: Zone, name: string): Promise<boolean> {
    const { enabled, subdomains } = await routing.settings.of(zone);
    return name === zone.name ? enabled : subdomains.some((one) => one.name === name && one.enabled);
  }

  const domains = createSendingDomains({
    db,
    events,
    clock,
    ids,
    zones,
    dkimKeys,
    isRouted,
    log,
    ...(verifier && { verifier }),
    hosts: { mx: mxHosts(email), spfInclude: email.spf_include, label: email.sending_label, dmarc: email.dmarc },
  });
  lifecycle.onStop("sending domains", () => domains.close());
  domains
    .tidy()
    .catch((err: unknown) =>
      log.warn({ err }, "sending domains of deleted zones could not be removed; the next start tries again"),
    );

  const sending = createSending({
    db,
    clock,
    ids,
    trace,
    spool,
    transport: outbound.relayThenQueue,
    queue: outbound.queue,
    signer,
    dkimKeys,
    suppressions,
    returns,
    domains,
    zones,
    isRouted,
    isVerified: routing.addresses.isVerified,
    ...(keep && { keep }),
    limits: { perDay: email.daily_limit, perMinute: email.minute_limit },
  });
  const timer = setInterval(
    () =>
      void sending
        .sweep()
        .catch((err: unknown) => log.warn({ err }, "counts of sent messages could not be deleted; it is tried again")),
    SWEEP_MS,
  ).unref();
  lifecycle.onStop("counts of sent messages", () => clearInterval(timer));

  return {
    sending,
    domains,
    binding: createSendEmailBinding({ sending, spool }),
    publisher: { rotate: domains.rotateDkim, republish: domains.republish },
    routes: emailSendingRoutes({ zones, domains, suppressions, sending, spool, clock }),
  };
}
