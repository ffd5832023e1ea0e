import { join } from "node:path";
import type { AccountsModule } from "../accounts/index.ts";
import type { Basics } from "../kernel/basics.ts";
import type { Peers } from "../kernel/peers.ts";
import type { Metrics } from "../kernel/metrics.ts";
import type { Settings } from "../kernel/settings.ts";
import type { Secrets, Store } from "../store/index.ts";
import type { LiveWorkers, Scripts, WorkerRuntime } from "../workers/index.ts";
import type { SendEmailPort } from "../workers/ports.ts";
import type { Lookups, RecordWatch, Zones } from "../zones/index.ts";
import { createWorkerLogs } from "./actions/index.ts";
import { setUpActivity, type ActivitySetup } from "./activity/index.ts";
import { setUpArchive } from "./archive/index.ts";
import { setUpAuthenticator, createSigner } from "./authenticate/index.ts";
import { createServiceKeys, setUpDkimRotation } from "./dkim-keys/index.ts";
import { type DmarcReporting, setUpDmarcReporting } from "./dmarc-reports/index.ts";
import { createMessageContents, type MessageContents } from "./contents.ts";
import { createDowngrade } from "./downgrade/index.ts";
import { createForwarding, setUpSrs } from "./forwarding/index.ts";
import { setUpRetryQueue } from "./retry/index.ts";
import { createListeners, type Listeners } from "./listeners.ts";
import { createSpool, type Spool, traceTo } from "./messages/index.ts";
import { setUpMtaSts, type MtaSts } from "./mta-sts/index.ts";
import { mxHosts } from "./names.ts";
import { setUpFileTransport, setUpOutbound, type OutboundSetup } from "./outbound/index.ts";
import { createReceiver } from "./receive.ts";
import { traceReceiver } from "./trace-receiver.ts";
import { setUpBounces } from "./bounces/index.ts";
import {
  type EmailRouting,
  createLocalDomains,
  neededRecords,
  type NeededRecord,
  createRecipientRoute,
  parseWorkerName,
  setUpRouting,
} from "./routing/index.ts";
import {
  createSendEmailBinding,
  setUpSending,
  setUpSendingDomains,
  type Sending,
  type SendingDomains,
} from "./sending/index.ts";
import { setUpSuppressions, type Suppressions } from "./suppressions/index.ts";
import {
  createInvitationMail,
  createSystemMail,
  createVerificationMail,
  type SendInvitationMail,
} from "./system-mail/index.ts";
import { setUpTlsReports } from "./tls-reports/index.ts";

interface MailDeps {
  settings: Settings;
  store: Store;
  secrets: Secrets;
  /** The roles of this process. */
  roles: { has(role: "smtp" | "outbound" | "dns"): boolean };
  accounts: Pick<AccountsModule, "authenticate">;
  zones: Zones;
  scripts: Pick<Scripts, "get" | "byId" | "bySubdomain">;
  workers: Pick<LiveWorkers, "email">;
  runtime: Pick<WorkerRuntime, "onInvocation">;
  dns: {
    lookups: Lookups;
    /** Compares records with public DNS. */
    watch: RecordWatch;
    /** Returns true if the records of a zone are entered manually. */
    isManual(zone: string): boolean;
  };
  metrics: Metrics;
  /** The live processes with a role. Default: only this one. */
  peers?: Peers;
  /** Returns the URL under which clients reach this server. */
  baseUrl(): string;
  /** Milliseconds that listeners wait for messages in progress when they close. */
  graceMs: number;
}

/** Email Routing, Email Sending and the mail server of one process. */
export interface Mail extends Listeners {
  /** Starts delivering queued mail, retries and sweeps, depending on the roles of this process. */
  start(): void;
  /** Rules, destination addresses and DNS records of routed domains. */
  routing: EmailRouting;
  sending: Sending;
  sendingDomains: SendingDomains;
  suppressions: Suppressions;
  /** `send()` of a worker's send_email binding. */
  binding: SendEmailPort;
  /** The outbound queue. */
  queue: OutboundSetup["messages"];
  /** The message log, and copies of sent mail. */
  activity: ActivitySetup["activity"];
  sentMessages: ActivitySetup["sentMessages"];
  /** Contents of received and sent messages. */
  contents: MessageContents;
  /** DMARC and TLS reports about zones. */
  reports: DmarcReporting;
  /** The MTA-STS policies of routed domains. */
  mtaSts: MtaSts;
  /** Invites a user to an account by email. */
  sendInvitation: SendInvitationMail;
  /** Resolves with the DNS records that the forward domain needs. */
  records(): Promise<NeededRecord[]>;
  /** Holds raw messages while they are sent. */
  spool: Spool;
}

/** Builds mail from the settings. Nothing runs before `listen` and `start`, except sweeps of old data. */
export function createMail(deps: MailDeps, basics: Basics): Mail {
  const { settings, store, secrets, roles, zones, scripts, workers, dns, metrics } = deps;
  const { clock, ids, log, lifecycle, tracing } = basics;
  const { lookups, watch, isManual } = dns;
  const { email } = settings;

  const spool = createSpool({ dir: join(settings.data_dir, "spool"), ids });
  lifecycle.onStop("spool", () => spool.close());
  const { activity, sentMessages, resolveInterrupted, recordRejection, recordTranscript } = setUpActivity(
    { store, settings, zones, metrics },
    basics,
  );
  const trace = traceTo({
    log,
    listeners: [(event) => log.info({ ...event }, "mail: message processed"), activity.trace],
  });
  const signer = createSigner({ clock });
  const srs = setUpSrs(settings, secrets);

  const reports = setUpDmarcReporting({ store, settings, zones, lookups }, basics);
  const { tlsReportUri } = reports;
  const mtaSts = setUpMtaSts(
    { store, settings, zones, lookups, updatesRecords: roles.has("dns"), tlsReportUri },
    basics,
  );
  const routing = setUpRouting(
    { store, zones, scripts, secrets, settings, baseUrl: deps.baseUrl, verifier: watch },
    basics,
  );
  const { dkimKeys, resolve } = routing;
  const serviceKeys = createServiceKeys(settings, dkimKeys);
  const sendingDomains = setUpSendingDomains({ store, settings, zones, routing, verifier: watch }, basics);
  const isSendingDomain = async (domain: string) => (await sendingDomains.find(domain))?.enabled === true;

  const tlsReports = setUpTlsReports({ store, settings, lookups }, basics);
  const outbound = setUpOutbound(
    {
      store,
      settings,
      metrics,
      ...(deps.peers && { peers: deps.peers }),
      lookups,
      trace,
      files: setUpFileTransport(settings, basics),
      isLocal: createLocalDomains({ settings, resolve, isSendingDomain, lookups }),
      downgrade: createDowngrade({ signer, findKey: dkimKeys.find }),
      tlsResults: tlsReports?.results,
    },
    basics,
  );
  const suppressions = setUpSuppressions(store, basics);
  const { bounces, start: startBounces } = setUpBounces(
    {
      store,
      secrets,
      settings,
      queue: outbound.queue,
      srs,
      signer,
      service: serviceKeys,
      list: suppressions,
      isSendingDomain,
      trace,
    },
    basics,
  );
  outbound.onFailed(bounces.onFailed);
  const systemMail = createSystemMail({
    transport: outbound.relayThenQueue,
    spool,
    signer,
    keys: serviceKeys.keys,
    trace,
    clock,
  });
  routing.addresses.onVerification(createVerificationMail({ transport: systemMail, clock, ids, from: email.from }));
  const sending = setUpSending(
    {
      store,
      settings,
      zones,
      routing,
      domains: sendingDomains,
      suppressions,
      outbound,
      bounces,
      signer,
      spool,
      trace,
      storeSent: sentMessages.store,
    },
    basics,
  );

  const transport = settings.outbound.forward === "queue" ? outbound.relayThenQueue : outbound.relay;
  const forwarding = createForwarding({
    transport,
    signer,
    srs,
    bounces,
    spool,
    clock,
    ids,
    keysOf: ({ zone, domain }) => dkimKeys.signers({ zone, domain, use: "routing" }),
    serviceKey: serviceKeys.keys,
    loopKeys: secrets.derive("mail-loop"),
  });
  const retries = setUpRetryQueue({ store, settings, spool, bounces, trace }, basics);
  const authenticator = setUpAuthenticator(settings, lookups.resolve, basics);
  const archive = setUpArchive({ settings, store }, basics);
  const workerLogs = createWorkerLogs({ runtime: deps.runtime, record: activity.trace });
  lifecycle.onStop("logs of workers about messages", () => workerLogs.close());
  const receiver = traceReceiver(
    createReceiver({
      workerLogs,
      ...(archive && { archive }),
      runtime: { email: (name, mail, actions) => workers.email(parseWorkerName(name), mail, actions) },
      route: createRecipientRoute({ settings, resolve, scripts, reports, isSendingDomain }),
      rules: {
        isVerified: async (address, { account }) =>
          account === undefined || (await routing.addresses.stateOf(account, address)) === "verified",
      },
      transport,
      forwarding,
      bounces,
      reports,
      retries,
      spool,
      trace,
      clock,
      ids,
      log,
      ...(authenticator && { authenticator }),
    }),
    tracing,
  );
  const listeners = createListeners(
    {
      settings,
      receiver,
      spool,
      rateLimits: store.limits,
      lookups,
      metrics,
      accounts: deps.accounts,
      zones,
      sending,
      onRejected: recordRejection,
      onTranscript: recordTranscript,
      graceMs: deps.graceMs,
    },
    basics,
  );
  if (roles.has("dns"))
    setUpDkimRotation(
      {
        store,
        settings,
        zones,
        dkimKeys,
        publishers: {
          routing: { rotate: routing.dns.rotateDkim, republish: routing.dns.republish },
          sending: { rotate: sendingDomains.rotateDkim, republish: sendingDomains.republish },
        },
        watch,
        isManual,
      },
      basics,
    );

  return {
    async listen(options) {
      const listener = await listeners.listen(options);
      outbound.deliverLocallyTo(listener);
      return listener;
    },
    listenForSubmission: listeners.listenForSubmission,
    start() {
      if (roles.has("outbound")) {
        outbound.start();
        startBounces();
        tlsReports?.start(
          createSystemMail({
            transport: outbound.queue,
            spool,
            signer,
            keys: serviceKeys.keys,
            bounces: false,
            trace,
            clock,
          }),
        );
      }
      resolveInterrupted(outbound.messages);
      // Retries run workers, and workers run only in processes that receive mail.
      if (roles.has("smtp")) retries.start(receiver.retry);
    },
    routing,
    sending,
    sendingDomains,
    suppressions,
    binding: createSendEmailBinding({ sending, spool }),
    queue: outbound.messages,
    activity,
    sentMessages,
    contents: createMessageContents({ archive, sentMessages, receiver, spool, ids }),
    reports,
    mtaSts,
    sendInvitation: createInvitationMail({ transport: systemMail, clock, ids, from: email.from }),
    records: async () =>
      neededRecords(
        serviceKeys.domain,
        { mx: mxHosts(email), spfInclude: email.spf_include, dkimSelector: email.dkim_selector },
        await serviceKeys.records(),
      ),
    spool,
  };
}
