import type { Settings } from "../kernel/settings.ts";
import {
  addressSet,
  createAuthenticator,
  createForwarding,
  createHeld,
  neededRecords,
  type AuthenticationPolicy,
  type Authenticator,
  type EmailRouting,
  type Forwarding,
  type Held,
  type NeededRecord,
  type Resolver,
  type Returns,
  type Signer,
  type SigningKey,
  type Spool,
  type Trace,
  type Transport,
} from "../mail/index.ts";
import { createSrs, type Srs } from "../protocol/srs/index.ts";
import type { Secrets } from "../store/index.ts";
import type { Basics, Store } from "./compose.ts";
import { mxHosts, smtpName } from "./mail-names.ts";

/** Our own keys stand beside those of zones; no zone has this id, so that no zone that goes takes them along. */
const SERVICE = { zone: "service", account: "", use: "routing" as const };
/** The domain may be a routed one besides, with keys of its own: one selector holds one key. A label has 63 octets. */
const serviceSelector = (selector: string) => `${selector.slice(0, 50)}-forward`;

/** The addresses forwarded mail comes back to; whoever reads them needs the same. */
export const composeSrs = ({ email }: Settings, secrets: Secrets): Srs =>
  createSrs({ domain: email.forward_domain, keys: secrets.derive("srs") });

/** What is done with mail of peers that are trusted: it is judged, and let in. */
const LET_IN: Partial<AuthenticationPolicy> = {
  require: "nothing",
  spfFail: "accept",
  dmarcFail: { none: "accept", quarantine: "accept", reject: "accept" },
  temporary: "accept",
  noAuthor: "accept",
  severalAuthors: "accept",
};

/** Who judges senders; undefined where the settings say nobody does. Throws UserError for a trusted address that is none. */
export function composeAuthenticator(
  settings: Settings,
  resolver: Resolver,
  { clock, lifecycle }: Basics,
): Pick<Authenticator, "check" | "tagged"> | undefined {
  const {
    enabled,
    trusted,
    require,
    spf_fail: spfFail,
    dmarc_reject: reject,
    dmarc_quarantine: quarantine,
    trusted_sealers: trustedSealers,
  } = settings.authentication;
  if (!enabled) return undefined;
  const isTrusted = addressSet(trusted, "authentication.trusted");
  const authenticator = createAuthenticator({
    resolver,
    authservId: smtpName(settings.smtp),
    clock,
    policy: { require, spfFail, dmarcFail: { none: "accept", quarantine, reject }, trustedSealers },
  });
  lifecycle.onStop("authentication", () => authenticator.close());
  return {
    tagged: authenticator.tagged,
    check: (envelope, source) =>
      authenticator.check(envelope, source, isTrusted(envelope.ip) ? { policy: LET_IN } : {}),
  };
}

/** What signs in the name of the platform, for forwards and for reports of failures. */
export interface ServiceKeys {
  /** From memory, once they are made. */
  keys(): Promise<SigningKey[]>;
  /** What the DNS of `email.forward_domain` must say. */
  records(): Promise<NeededRecord[]>;
}

export function composeServiceKeys({ email }: Settings, { dkimKeys }: Pick<EmailRouting, "dkimKeys">): ServiceKeys {
  const service = {
    ...SERVICE,
    domain: email.forward_domain.toLowerCase(),
    selector: serviceSelector(email.dkim_selector),
  };
  let made: Promise<unknown> | undefined;

  /** Made when first needed; every process finds the same. */
  function ensured() {
    made ??= dkimKeys.ensure(service).catch((err: unknown) => {
      made = undefined;
      throw err;
    });
    return made;
  }

  return {
    async keys() {
      await ensured();
      return dkimKeys.signers(service);
    },
    async records() {
      await ensured();
      const hosts = { mx: mxHosts(email), spfInclude: email.spf_include, dkimSelector: email.dkim_selector };
      return neededRecords(service.domain, hosts, await dkimKeys.records(service));
    },
  };
}

export interface ForwardingParts {
  store: Pick<Store, "objects" | "jobs">;
  settings: Settings;
  secrets: Secrets;
  routing: Pick<EmailRouting, "dkimKeys">;
  service: ServiceKeys;
  srs: Srs;
  signer: Signer;
  spool: Spool;
  /** Takes what is forwarded: by `outbound.forward` the one that queues, or the one that puts the sender off. */
  transport: Transport;
  returns: Pick<Returns, "pathFor" | "bounce">;
  trace: Trace;
}

export interface ForwardingRoom {
  forwarding: Forwarding;
  /** Not started: that is for the process that receives, with `held.start(receiver.retry)`. */
  held: Held;
}

/** What sends mail on, signed by its domain and by ours, and keeps what cannot go on yet. */
export function composeForwarding(
  {
    store: { objects, jobs },
    settings: { outbound },
    secrets,
    routing: { dkimKeys },
    service,
    srs,
    signer,
    spool,
    transport,
    returns,
    trace,
  }: ForwardingParts,
  { clock, ids, log, lifecycle }: Basics,
): ForwardingRoom {
  const forwarding = createForwarding({
    transport,
    signer,
    srs,
    returns,
    spool,
    clock,
    ids,
    keysOf: ({ zone, domain }) => dkimKeys.signers({ zone, domain, use: "routing" }),
    serviceKey: service.keys,
    loopKeys: secrets.derive("mail-loop"),
  });
  const limits = {
    backoffMs: outbound.retry_minutes.map((minutes) => minutes * 60_000),
    lifetimeMs: outbound.days * 24 * 60 * 60_000,
  };
  const held = createHeld({ objects, jobs, spool, clock, ids, trace, log, returns, limits });
  lifecycle.onStop("held mail", () => held.stop());
  return { forwarding, held };
}
