import type { Settings } from "../kernel/settings.ts";
import { createEmailRouting, createVerificationMail, type EmailRouting, type RecordVerifier, type Routed, type Transport } from "../mail/index.ts";
import type { Secrets } from "../store/index.ts";
import type { Basics, Store } from "./compose.ts";
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
export function composeEmailRouting({ store: { db, events }, platform: { zones, scripts }, secrets, settings: { email }, transport, baseUrl, verifier }: EmailRoutingParts, { clock, ids, log, lifecycle }: Basics): EmailRouting {
  const routing = createEmailRouting({
    db, events, zones, scripts, secrets, clock, ids, log, verifier,
    addresses: {
      link: (token) => `${baseUrl()}/email/verify/${token}`,
      sendVerification: createVerificationMail({ transport, clock, ids, from: email.from }),
    },
    hosts: { mx: email.mx.map((host, i) => ({ host, priority: (i + 1) * 10 })), spfInclude: email.spf_include, dkimSelector: email.dkim_selector },
    ...(email.postmaster !== "" && { postmaster: email.postmaster }),
  });
  lifecycle.onStop("email routing", () => routing.close());
  routing.tidy().catch((err: unknown) => log.warn({ err }, "what is left of deleted zones could not be removed; the next start tries again"));
  return routing;
}

/** Where a recipient's mail goes: by the rules of a routed domain, or to the worker whose own address it is. */
export async function routeOf(recipient: string, routing: EmailRouting, { scripts }: Platform, workersDomain: string): Promise<Routed> {
  const found = await routing.resolve(recipient);
  return found.kind === "none" && found.why === "not our domain" ? mailRoute(recipient, workersDomain, scripts) : found;
}
