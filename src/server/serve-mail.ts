import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Metrics } from "../kernel/metrics.ts";
import type { Settings } from "../kernel/settings.ts";
import {
  createCapture,
  createDowngrade,
  createReceiver,
  createSigner,
  createSpool,
  traceTo,
  type DmarcReporting,
  type EmailRouting,
  type Receiver,
  type ReturnsService,
  type Spool,
  type Transport,
} from "../mail/index.ts";
import type { Secrets } from "../store/index.ts";
import type { WorkerRuntime } from "../workers/index.ts";
import { composeActivity, type ServeActivity } from "./activity.ts";
import type { Basics, Store } from "./compose.ts";
import type { ServeDns } from "./dns.ts";
import { composeEmailRouting, routeOf } from "./email-routing.ts";
import {
  composeAuthenticator,
  composeForwarding,
  composeServiceKeys,
  composeSrs,
  type ServiceKeys,
} from "./forwarding.ts";
import { composeOutbound, type ServeOutbound } from "./outbound.ts";
import { createOwnDomains } from "./own-domains.ts";
import { createOwnMail } from "./own-mail.ts";
import type { Platform } from "./platform.ts";
import { composeReturns } from "./returns.ts";
import type { Role } from "./roles.ts";
import { composeSending, composeSuppressions, type ServeSending } from "./sending.ts";
import type { ServeWorkers } from "./serve-workers.ts";

export interface ServeMailParts {
  store: Store;
  secrets: Secrets;
  settings: Settings;
  roles: ReadonlySet<Role>;
  platform: Platform;
  workers: ServeWorkers;
  dns: ServeDns;
  /** Records reports about zones; their mail needs no rule. */
  reports: Pick<DmarcReporting, "zoneAt" | "take">;
  metrics: Metrics;
  /** How people reach this server, once it listens. */
  baseUrl(): string;
}

export interface ServeMail {
  routing: EmailRouting;
  service: ServiceKeys;
  receiver: Receiver;
  spool: Spool;
  outbound: ServeOutbound;
  activity: ServeActivity;
  sending: ServeSending;
  /** Where mail comes in, once it does. */
  listening(at: { host: string; port: number }): void;
  /** Works off what waits, in the processes whose role that is. */
  start(): void;
}

/** Everything mail is made of, in the order in which one part needs the other. */
export function composeServeMail(
  { store, secrets, settings, roles, platform, workers, dns, reports, metrics, baseUrl }: ServeMailParts,
  basics: Basics,
): ServeMail {
  const { clock, ids, log, lifecycle } = basics;
  const spool = createSpool({ dir: join(settings.data_dir, "spool"), ids });
  lifecycle.onStop("spool", () => spool.close());
  const activity = composeActivity({ store, settings, zones: platform.zones, metrics }, basics);
  const trace = traceTo({ log, listeners: [(event) => log.info({ ...event }, "mail"), activity.trace] });
  const signer = createSigner({ clock });
  const srs = composeSrs(settings, secrets);

  // Mail that leaves asks those for whom it came in; they ask how it leaves.
  const late: {
    routing?: EmailRouting;
    returns?: ReturnsService;
    service?: ServiceKeys;
    sending?: ServeSending;
    smtp?: { host: string; port: number };
  } = {};
  const sends = async (domain: string) => (await late.sending?.domains.find(domain))?.enabled === true;
  const outbound = composeOutbound(
    {
      store,
      settings,
      roles,
      metrics,
      lookups: dns.lookups,
      trace,
      files: composeFiles(settings, basics),
      onFailed: (failure) => late.returns!.onFailed(failure),
      isOurs: createOwnDomains({
        settings,
        resolve: (recipient) => late.routing!.resolve(recipient),
        sends,
        lookups: dns.lookups,
      }),
      ownListener: () => late.smtp,
      downgrade: createDowngrade({
        signer,
        findKey: (domain, selector) => late.routing!.dkimKeys.find(domain, selector),
      }),
    },
    basics,
  );
  const ownMail = createOwnMail({
    transport: outbound.relayThenQueue,
    spool,
    signer,
    service: () => late.service!,
    trace,
    clock,
  });
  const routing = (late.routing = composeEmailRouting(
    { store, platform, secrets, settings, transport: ownMail, baseUrl, verifier: dns.watch },
    basics,
  ));
  const service = (late.service = composeServiceKeys(settings, routing));
  const suppressions = composeSuppressions(store, basics);
  const { returns, start: lookAfterReturns } = composeReturns(
    { store, secrets, settings, queue: outbound.queue, srs, signer, service, list: suppressions, sends, trace },
    basics,
  );
  late.returns = returns;
  const transport = settings.outbound.forward === "queue" ? outbound.relayThenQueue : outbound.relay;
  const { forwarding, held } = composeForwarding(
    { store, settings, secrets, routing, service, srs, signer, spool, transport, returns, trace },
    basics,
  );
  const sending = (late.sending = composeSending(
    {
      store,
      settings,
      zones: platform.zones,
      routing,
      suppressions,
      outbound,
      returns,
      signer,
      spool,
      trace,
      verifier: dns.watch,
      keep: activity.keep,
    },
    basics,
  ));
  workers.sendMailWith(sending.binding);

  const authenticator = composeAuthenticator(settings, dns.lookups.resolve, basics);
  const receiver = createReceiver({
    runtime: { email: (name, mail, actions) => platform.live.email(refOf(name), mail, actions) } satisfies Pick<
      WorkerRuntime,
      "email"
    >,
    route: (recipient) => routeOf(recipient, routing, platform, settings, { reports, sends }),
    rules: {
      isVerified: async (address, account) =>
        account === undefined || (await routing.addresses.stateOf(account, address)) === "verified",
    },
    transport,
    forwarding,
    returns,
    reports,
    held,
    spool,
    trace,
    clock,
    ids,
    log,
    ...(authenticator && { authenticator }),
  });

  return {
    routing,
    service,
    receiver,
    spool,
    outbound,
    activity,
    sending,
    listening(at) {
      late.smtp = at;
    },
    start() {
      outbound.start();
      activity.settleInterrupted(outbound.messages);
      if (roles.has("outbound")) lookAfterReturns();
      // Its workers run where mail comes in.
      if (roles.has("smtp")) held.start(receiver.retry);
    },
  };
}

/** Where mail goes that does not leave. */
function composeFiles({ data_dir: dataDir }: Settings, { log, lifecycle }: Basics): Transport {
  const dir = join(dataDir, "mail");
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const files = createCapture({
    dir,
    log,
    onWritten: ({ mail, files: [file] }) =>
      log.info(
        { message: mail.inbound?.id, messageId: mail.messageId, to: mail.to, file: file?.path },
        "outbound: message written to a file instead of being sent",
      ),
  });
  lifecycle.onStop("captured mail", () => files.close());
  return files;
}

/** What the mail room calls a worker of an account: see worker-addresses.ts. */
function refOf(name: string) {
  const slash = name.indexOf("/");
  return { account: name.slice(0, slash), script: name.slice(slash + 1) };
}
