import { readFileSync } from "node:fs";
import type { Metrics } from "../kernel/metrics.ts";
import type { Settings } from "../kernel/settings.ts";
import {
  createDane,
  createOutbound,
  createStsFetch,
  createStsPolicies,
  createStsTable,
  outboundErrors,
  readSmartHost,
  type Downgrade,
  type Failure,
  type LocalHop,
  type OutboundLimits,
  type OutboundService,
  type SmartHost,
  type Trace,
  type Transport,
} from "../mail/index.ts";
import { createEgressCheck } from "../workers/index.ts";
import type { Lookups } from "../zones/index.ts";
import type { Basics, Store } from "./compose.ts";
import { smtpName } from "./mail-names.ts";
import { meterOutbound } from "./meters.ts";
import type { Role } from "./roles.ts";

export interface ServeOutboundParts {
  store: Store;
  settings: Settings;
  roles: ReadonlySet<Role>;
  metrics: Metrics;
  lookups: Pick<Lookups, "query" | "resolveMx" | "resolveTxt" | "resolve4" | "resolve6">;
  trace: Trace;
  /** Where mail goes that does not leave: `outbound.deliver` is files. */
  files: Transport;
  /** Tells senders of failures; it may find its parts made later than this. Rejecting means: once more, later. */
  onFailed: (failure: Failure) => Promise<void>;
  /** Whether mail for this domain comes in here. */
  isOurs: (domain: string) => Promise<boolean>;
  /** Where this process takes mail in, once it listens; undefined where it does not. */
  ownListener: () => { host: string; port: number } | undefined;
  /** Converts messages for servers without 8BITMIME or SMTPUTF8. Default: such messages are rejected. */
  downgrade?: Downgrade;
  limits?: Partial<OutboundLimits>;
}

/** The ways for mail to leave, and what waits on its way. */
export interface ServeOutbound {
  /** Delivers while the caller waits; nothing is kept. */
  relay: Transport;
  /** Keeps the message, and delivers it later. */
  queue: Transport;
  /** Delivers while the caller waits, and keeps what is put off. */
  relayThenQueue: Transport;
  /** The queue as people see it: list, get, resend, cancel. */
  messages: Pick<OutboundService, "list" | "get" | "resend" | "cancel" | "paused" | "pausesOf" | "ofInbound">;
  /** Delivers what waits, where this process has the role outbound and mail leaves at all. To be called when everything else stands. */
  start(): void;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const GRACE_MS = 10_000;
/** Of a process that is gone for good its messages are free again after this. */
const LEASE_MS = 20_000;

/** Mail on its way out, as the settings of `outbound` have it. Throws UserError for smart hosts that cannot be read. */
export function composeOutbound(parts: ServeOutboundParts, { clock, ids, log, lifecycle }: Basics): ServeOutbound {
  const {
    store: { db, objects, events },
    settings,
    roles,
    metrics,
    lookups,
    files,
    isOurs,
    ownListener,
    downgrade,
    limits,
  } = parts;
  const { outbound: settled, smtp, email, dns, tls } = settings;
  const smartHosts = smartHostsOf(settings);
  const reaches = createEgressCheck({
    allowLoopback: settled.allow_private,
    allowPrivate: settled.allow_private,
    denyPorts: [],
    allow: [],
  });
  const mayConnect = (address: string) => reaches(address, settled.port) === undefined;
  const ca = tls.acme_ca_file === "" ? undefined : readFileSync(tls.acme_ca_file, "utf8");
  const sts = createStsPolicies({
    table: createStsTable(db),
    fetch: createStsFetch({ resolver: lookups, mayConnect, ...(ca !== undefined && { ca }) }),
    resolveTxt: lookups.resolveTxt,
    clock,
    log,
  });
  const meters = meterOutbound(metrics);
  const name = smtpName(smtp);

  const localHop: LocalHop = async (domain) => {
    if (!(await isOurs(domain))) return undefined;
    const here = ownListener();
    // It arrives from a trusted address and is accepted with any authentication result: sender.ts, or the check on first arrival, is the only one.
    // Not by our own MX records: behind a NAT the address they lead to may be one that only others reach.
    return here === undefined ? "by-mx" : { host: reachable(here.host), port: here.port, tls: "none" };
  };

  const service = createOutbound({
    db,
    objects,
    events,
    clock,
    ids,
    log,
    name,
    resolver: lookups,
    smartHosts,
    mayConnect,
    localHop,
    ...(downgrade && { downgrade }),
    port: settled.port,
    families: settled.ipv6 ? [4, 6] : [4],
    ownNames: email.mx,
    ...(settled.mta_sts && { policyFor: sts.policyFor }),
    // Who does not check DNSSEC, or is reached over a way that others can change, is not to be believed about it.
    ...(settled.dane && dns.validating && { daneFor: createDane({ lookups, port: settled.port }) }),
    ...(ca !== undefined && { ca }),
    trace: (event) => {
      meters.count(event);
      parts.trace(event);
    },
    onFailed: parts.onFailed,
    limits: {
      perDestination: settled.per_destination === DEFAULT_PER_DESTINATION ? undefined : settled.per_destination,
      perMinute: settled.per_minute === 0 ? undefined : settled.per_minute,
      backoffMs: settled.retry_minutes.map((minutes) => minutes * MINUTE),
      lifetimeMs: settled.days * DAY,
      leaseMs: LEASE_MS,
      ...limits,
    },
  });
  meters.watch({ waiting: service.waiting, paused: () => service.paused().length });
  lifecycle.onStop(
    "outbound mail",
    async () => {
      sts.close();
      await service.stop({ graceMs: GRACE_MS });
    },
    { timeoutMs: GRACE_MS + 5000 },
  );

  const leaves = settled.deliver !== "files";
  const { relay, queue, relayThenQueue } = leaves ? service : { relay: files, queue: files, relayThenQueue: files };
  return {
    relay,
    queue,
    relayThenQueue,
    messages: service,
    start() {
      if (leaves && roles.has("outbound")) service.start();
    },
  };
}

/** A smart host is one destination for all domains, and has four times the room unless the settings say how much. */
const DEFAULT_PER_DESTINATION = 5;

function smartHostsOf({ outbound: { deliver, smart_hosts: given } }: Settings): SmartHost[] {
  if (deliver !== "smart_host") return [];
  if (given.length === 0) throw outboundErrors.noSmartHosts();
  return given.map(readSmartHost);
}

/** Who listens everywhere is reached here. */
const reachable = (host: string) => (host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host);
