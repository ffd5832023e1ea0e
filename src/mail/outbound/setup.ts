import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Basics } from "../../kernel/basics.ts";
import type { Peers } from "../../kernel/peers.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import type { Settings } from "../../kernel/settings.ts";
import type { Store } from "../../store/index.ts";
import { createEgressCheck } from "../../workers/index.ts";
import type { Lookups } from "../../zones/index.ts";
import type { Trace, Transport } from "../messages/index.ts";
import { smtpName } from "../names.ts";
import { createFileTransport } from "./file-transport.ts";
import { outboundErrors } from "./errors.ts";
import { meterOutbound } from "./metrics.ts";
import { createOutbound, type OutboundLimits, type OutboundService } from "./outbound.ts";
import { createDane } from "./policy/dane.ts";
import { createStsFetch } from "./policy/sts-fetch.ts";
import { createStsTable } from "./policy/sts-table.ts";
import { createStsPolicies } from "./policy/sts.ts";
import { readSmartHost } from "./smart-hosts.ts";
import type { Downgrade, LocalHop, SmartHost, TlsResults } from "./types.ts";

export interface OutboundSetupDeps {
  store: Pick<Store, "db" | "objects" | "events" | "sweeps">;
  settings: Settings;
  metrics: Metrics;
  lookups: Pick<Lookups, "query" | "resolveMx" | "resolveTxt" | "resolve4" | "resolve6">;
  trace: Trace;
  /** Receives all outbound mail if `outbound.deliver` is `files`. */
  files: Transport;
  /** Records TLS results for reports. Default: not recorded. */
  tlsResults?: TlsResults | undefined;
  /** True if this server receives mail for the domain. */
  isLocal: (domain: string) => Promise<boolean>;
  /** Converts messages for servers without 8BITMIME or SMTPUTF8. Default: such messages are rejected. */
  downgrade?: Downgrade;
  /** The processes that deliver. Default: only this one. */
  peers?: Peers;
  limits?: Partial<OutboundLimits>;
}

export interface OutboundSetup extends Pick<OutboundService, "relay" | "queue" | "relayThenQueue" | "onFailed"> {
  /** The queue for the API: list, get, resend, cancel. */
  messages: Pick<
    OutboundService,
    "list" | "get" | "resend" | "cancel" | "paused" | "pausesOf" | "resume" | "ofInbound"
  >;
  /** From now on, delivers mail for local domains to this listener in the same process. */
  deliverLocallyTo(listener: { host: string; port: number }): void;
  /** Delivers queued mail from now on, unless all mail is written to files. */
  start(): void;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const GRACE_MS = 10_000;
/** Messages of a killed process can be claimed again after this time. */
const LEASE_MS = 20_000;

/** Builds outbound mail from the `outbound` settings. Throws UserError for an invalid smart host. */
export function setUpOutbound(deps: OutboundSetupDeps, { clock, ids, log, lifecycle, tracing }: Basics): OutboundSetup {
  const {
    store: { db, objects, events, sweeps },
    settings,
    metrics,
    lookups,
    files,
    isLocal,
    downgrade,
    tlsResults,
    peers,
    limits,
  } = deps;
  const { outbound, smtp, email, dns, tls } = settings;
  const checkEgress = createEgressCheck({
    allowLoopback: outbound.allow_private,
    allowPrivate: outbound.allow_private,
    denyPorts: [],
    allow: [],
  });
  const mayConnect = (address: string) => checkEgress(address, outbound.port) === undefined;
  const ca = tls.acme_ca_file === "" ? undefined : readFileSync(tls.acme_ca_file, "utf8");
  const sts = createStsPolicies({
    table: createStsTable(db),
    fetch: createStsFetch({ resolver: lookups, mayConnect, ...(ca !== undefined && { ca }) }),
    resolveTxt: lookups.resolveTxt,
    clock,
    log,
  });
  const meters = meterOutbound(metrics);
  let listener: { host: string; port: number } | undefined;

  const findLocalHop: LocalHop = async (domain) => {
    if (!(await isLocal(domain))) return undefined;
    // The message arrives from a trusted address and is accepted with any authentication result, since the sender was
    // checked before. The MX records are not used, because behind a NAT this server may be unable to reach its own
    // public address.
    return listener === undefined ? "by-mx" : { host: reachable(listener.host), port: listener.port, tls: "none" };
  };

  const service = createOutbound({
    db,
    objects,
    events,
    sweeps,
    ...(peers && { peers }),
    clock,
    ids,
    log,
    tracing,
    name: smtpName(smtp),
    resolver: lookups,
    smartHosts: smartHostsOf(settings),
    mayConnect,
    localHop: findLocalHop,
    ...(downgrade && { downgrade }),
    ...(tlsResults && { tlsResults }),
    port: outbound.port,
    families: outbound.ipv6 ? [4, 6] : [4],
    ownNames: email.mx,
    ...(outbound.mta_sts && { policyFor: sts.policyFor }),
    // DANE needs a resolver that validates DNSSEC, over a connection that cannot be tampered with.
    ...(outbound.dane && dns.validating && { daneFor: createDane({ lookups, port: outbound.port }) }),
    ...(ca !== undefined && { ca }),
    trace: (event) => {
      meters.count(event);
      deps.trace(event);
    },
    limits: {
      perDestination: outbound.per_destination === DEFAULT_PER_DESTINATION ? undefined : outbound.per_destination,
      perMinute: outbound.per_minute === 0 ? undefined : outbound.per_minute,
      backoffMs: outbound.retry_minutes.map((minutes) => minutes * MINUTE_MS),
      lifetimeMs: outbound.days * DAY_MS,
      leaseMs: LEASE_MS,
      ...limits,
    },
  });
  meters.watch({ waiting: service.countQueued, paused: () => service.paused().length });
  lifecycle.onStop(
    "outbound mail",
    async () => {
      sts.close();
      await service.stop({ graceMs: GRACE_MS });
    },
    { timeoutMs: GRACE_MS + 5000 },
  );

  const leavesServer = outbound.deliver !== "files";
  const { relay, queue, relayThenQueue } = leavesServer
    ? service
    : { relay: files, queue: files, relayThenQueue: files };
  return {
    relay,
    queue,
    relayThenQueue,
    onFailed: service.onFailed,
    messages: service,
    deliverLocallyTo(at) {
      listener = at;
    },
    start() {
      if (leavesServer) service.start();
    },
  };
}

/** A smart host is one destination for all domains and gets four times the default, unless a limit is set. */
const DEFAULT_PER_DESTINATION = 5;

function smartHostsOf({ outbound: { deliver, smart_hosts: givenHosts } }: Settings): SmartHost[] {
  if (deliver !== "smart_host") return [];
  if (givenHosts.length === 0) throw outboundErrors.noSmartHosts();
  return givenHosts.map(readSmartHost);
}

/** A listener on all addresses is reached via the loopback address. */
const reachable = (host: string) => (host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host);

/** Writes outbound mail to `<data directory>/mail`. */
export function setUpFileTransport(
  { data_dir: dataDir }: Pick<Settings, "data_dir">,
  { log, lifecycle }: Basics,
): Transport {
  const dir = join(dataDir, "mail");
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const files = createFileTransport({
    dir,
    log,
    onWritten: ({ mail, files: [file] }) =>
      log.info(
        { message: mail.inbound?.id, messageId: mail.messageId, to: mail.to, file: file?.path },
        "outbound: message written to a file instead of being sent",
      ),
  });
  lifecycle.onStop("outbound files", () => files.close());
  return files;
}
