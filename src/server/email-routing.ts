import type { Settings } from "../kernel/settings.ts";
import {
  createEmailRouting,
  createVerificationMail,
  type DmarcReporting,
  type EmailRouting,
  type RecordVerifier,
  type Routed,
  type Transport,
} from "../mail/index.ts";
import type { Secrets } from "../store/index.ts";
import type { Basics, Store } from "./compose.ts";
import { mxHosts } from "./mail-names.ts";
import type { Platform } from "./platform.ts";
import { mailRoute } from "./worker-addresses.ts";

export interface EmailRoutingParts {
  store: Store;
  platform: Platform;
  secrets: Secrets;
  settings: Settings;
  transport: Transport;
  /** How people reach this server, once it listens. */
  baseUrl(): string;
  /** What the world sees of the records. */
  verifier: RecordVerifier;
}

/** Rules and addresses of the domains mail is routed for. */
export function composeEmailRouting(
  {
    store: { db, events },
    platform: { zones, scripts },
    secrets,
    settings: { email },
    transport,
    baseUrl,
    verifier,
  }: EmailRoutingParts,
  { clock, ids, log, lifecycle }: Basics,
): EmailRouting {
  const routing = createEmailRouting({
    db,
    events,
    zones,
    scripts,
    secrets,
    clock,
    ids,
    log,
    verifier,
    addresses: {
      link: (token) => `${baseUrl()}/email/verify/${token}`,
      sendVerification: createVerificationMail({ transport, clock, ids, from: email.from }),
    },
    hosts: { mx: mxHosts(email), spfInclude: email.spf_include, dkimSelector: email.dkim_selector },
    extended: email.extended_rules,
    ...(email.postmaster !== "" && { postmaster: email.postmaster }),
  });
  lifecycle.onStop("email routing", () => routing.close());
  routing
    .tidy()
    .catch((err: unknown) =>
      log.warn({ err }, "what is left of deleted zones could not be removed; the next start tries again"),
    );
  return routing;
}

export interface RouteParts {
  reports?: Pick<DmarcReporting, "zoneAt">;
  /** Whether mail is sent from a domain. */
  sends?: (domain: string) => Promise<boolean>;
}

/** Where a recipient's mail goes: by the rules of a routed domain, to the worker whose own address it is, or to the operator. */
export async function routeOf(
  recipient: string,
  routing: Pick<EmailRouting, "resolve">,
  { scripts }: Pick<Platform, "scripts">,
  { workers, email }: Pick<Settings, "workers" | "email">,
  { reports, sends }: RouteParts = {},
): Promise<Routed> {
  const found = await routing.resolve(recipient);
  if (found.kind !== "none" || found.why !== "not our domain") return found;
  const [, domain = ""] = /^(?:postmaster|abuse)@(.+)$/.exec(recipient.toLowerCase()) ?? [];
  // Bounces come in for these, so that they have a postmaster (RFC 5321 4.5.1).
  if (domain === email.forward_domain.toLowerCase()) return routing.resolve("postmaster");
  if (
    domain.startsWith(`${email.sending_label}.`) &&
    (await sends?.(domain.slice(email.sending_label.length + 1))) === true
  )
    return routing.resolve("postmaster");
  const reported = await reports?.zoneAt(recipient);
  if (reported !== undefined) return { kind: "report", ...reported };
  return mailRoute(recipient, workers.domain, scripts);
}
