import { join } from "node:path";
import { checkVersions, createCluster, followDatabaseTime, type Cluster, type DatabaseTime } from "../cluster/index.ts";
import { createClientAddress } from "../kernel/client-address.ts";
import type { Settings } from "../kernel/settings.ts";
import type { PrimaryProcess } from "../kernel/primary-process.ts";
import type { OwnAddresses } from "../kernel/own-addresses.ts";
import { noPeers, type Peers } from "../kernel/peers.ts";
import type { RateLimits } from "../kernel/rate-limits.ts";
import { createMetrics, type Metrics } from "../kernel/metrics.ts";
import type { Telemetry } from "../kernel/telemetry/index.ts";
import type { CorrectedClock } from "../kernel/corrected-clock.ts";
import type { Basics, Clock } from "../kernel/index.ts";
import { createMail, type Mail } from "../mail/index.ts";
import { openSecrets, openStore, type Store } from "../store/index.ts";
import { createStream, type Stream } from "../stream/index.ts";
import {
  createBindings,
  createWorkerRuntime,
  meterWorkers,
  serveEgress,
  type Bindings,
  type RuntimeOptions,
} from "../workers/index.ts";
import { createDns, type Dns } from "../zones/index.ts";
import { workerParent } from "../api/index.ts";
import { checkStorageIdentity } from "./storage-identity.ts";
import { composeCertificates, type ServeCertificates } from "./certificates.ts";
import { ownAddressesOf } from "./own-addresses.ts";
import { migrations } from "./migrations.ts";
import { createCustomDomainHosts } from "./custom-domain-hosts.ts";
import { composePlatform, type Platform } from "./platform.ts";
import type { sharedDatabaseOf } from "./processes/process-slot.ts";
import type { ProcessRole } from "./roles.ts";
import type { ServeOptions } from "./serve-options.ts";

/** The modules of a platform process, without its listeners. */
export interface ServeModules {
  platform: Platform;
  bindings: Bindings;
  certificates: ServeCertificates;
  dns: Dns;
  mail: Mail;
  stream: Stream;
  /** Metrics of the invocations of workers. */
  invocationMetrics: NonNullable<ReturnType<typeof createWorkerRuntime>["figures"]>;
  metrics: Metrics;
  events: Store["events"];
  rateLimits: RateLimits;
  /** Addresses and ports that are blocked for connections on behalf of users. */
  own: OwnAddresses;
  /** Absent if this process is the only one that uses the database. */
  cluster: Cluster | undefined;
  store: Store;
}

/** D1 databases are files of the process that queries them on behalf of the API or a worker. */
export const d1OptionsOf = (roles: ReadonlySet<ProcessRole>) => ({
  files: roles.has("api") || roles.has("workers") || roles.has("smtp"),
  transfers: roles.has("api"),
});

/** Time limit for pending work after a stop request. */
export const GRACE_MS = 30_000;

interface OpenModulesOptions {
  /** True if other machines can reach a listener. */
  isExposed?: boolean;
  telemetry?: Telemetry | undefined;
  version: string;
  /** 32 hex digits, new for each run. */
  nodeId: string;
  /** The clock of the machine. */
  local: Clock;
  /** The clock in `basics`, which is corrected to that of the database. */
  corrected: CorrectedClock;
  /** The primary process of this server, and its data directory; absent in that process. */
  primary: (PrimaryProcess & { directory: string }) | undefined;
  /** A SQLite database that these processes share. */
  shared: ReturnType<typeof sharedDatabaseOf>;
}

export async function openModules(
  settings: Settings,
  roles: ReadonlySet<ProcessRole>,
  baseUrl: () => string,
  limits: ServeOptions["limits"],
  basics: Basics,
  { isExposed = false, telemetry, version, nodeId, local, corrected, primary, shared }: OpenModulesOptions,
): Promise<ServeModules> {
  const { data_dir: dataDir, database } = settings;
  const { lifecycle } = basics;
  const secrets = openSecrets(dataDir, settings.secrets);
  const corrections: DatabaseTime[] = [];
  const late: { cluster?: Cluster | undefined } = {};
  const metrics = createMetrics();
  lifecycle.onStop("metrics", () => metrics.close());
  const store = await openStore(
    dataDir,
    {
      migrations,
      migrate: database.migrate,
      database: database.url === "" ? undefined : database,
      shared,
      objects: settings.objects,
      metrics,
      liveProcesses: () => Math.max(1, late.cluster?.nodes().length ?? 0),
      async beforeMigrations(db) {
        if (!db.isShared) return;
        const time = await followDatabaseTime({ db, clock: corrected, local, log: basics.log });
        lifecycle.onStop("database clock", time.close);
        corrections.push(time);
        await checkVersions(db, version);
      },
    },
    basics,
  );
  await checkStorageIdentity({ ...store, secrets, ids: basics.ids });
  const bindings = createBindings(store, dataDir, basics, {
    d1: { ...d1OptionsOf(roles), ...(primary && { primary }) },
    secrets,
    settings,
  });
  const address = createClientAddress(settings.http.trusted_proxies);
  const client = (request: Parameters<typeof address.ip>[0]) => ({
    ip: address.ip(request) ?? "",
    scheme: address.scheme(request),
  });
  const ownAddresses = ownAddressesOf(settings);
  // Workers send mail and use videos, while mail and video deliver events to workers. Set before any worker runs.
  const lateModules: { mail?: Mail; stream?: Stream; platform?: Platform } = {};
  const runtime = createWorkerRuntime(
    {
      bindings,
      figuresStore: store,
      // An object's files belong to one process of one machine; servers that share PostgreSQL may run on several.
      durableObjects: database.url === "" && (primary ?? true),
      sendEmail: () => lateModules.mail!.binding,
      stream: () => lateModules.stream!.binding,
      calls: () => lateModules.platform!.live.calls,
      settings,
      dataDirectory: dataDir,
      egress: serveEgress(settings, ownAddresses),
      client,
      siteOf: (request, script) =>
        // The host of a route or a custom domain belongs to the worker's account.
        lateModules.platform!.routing.isRouted(request)
          ? undefined
          : siteOfDomain(settings.workers.domain)(request, script),
      ...(limits?.runtime && { limits: limits.runtime }),
    },
    basics,
  );
  const platform = composePlatform(
    {
      store,
      bindings,
      secrets,
      runtime,
      settings,
      schemeOf: address.scheme,
      scheduled: roles.has("workers"),
      otherContents: (account) => lateModules.stream!.contents(account),
      otherReferences: () => [lateModules.mail!.routing.references],
    },
    basics,
  );
  lateModules.platform = platform;
  await platform.routing.load();
  await platform.bucketDomains.load();
  meterWorkers(runtime, metrics);
  const [databaseTime] = corrections;
  late.cluster =
    databaseTime &&
    (await createCluster({ store, secrets, settings, roles, version, databaseTime, metrics, id: nodeId }, basics));
  const stopMetrics = telemetry?.sendMetrics(metrics);
  if (stopMetrics !== undefined) lifecycle.onStop("export of metrics", stopMetrics);
  const dns = createDns(
    { settings: settings.dns, zones: platform.zones, store, metrics, pushes: roles.has("dns") },
    basics,
  );
  const { accounts, zones, scripts, live } = platform;
  const mail = createMail(
    {
      settings,
      store,
      secrets,
      roles,
      accounts,
      zones,
      scripts,
      workers: live,
      runtime,
      dns,
      metrics,
      baseUrl,
      graceMs: limits?.graceMs ?? GRACE_MS,
      peers: peersOf(() => late.cluster?.nodes() ?? [], nodeId),
    },
    basics,
  );
  lateModules.mail = mail;
  const customDomainHosts = createCustomDomainHosts({
    domains: platform.routing.domains,
    settings,
    lookups: dns.lookups,
  });
  const certificates = await composeCertificates(
    {
      store,
      secrets,
      settings,
      metrics,
      texts: dns.texts,
      tenantHosts: async (select) => [...(await mail.mtaSts.hosts(select)), ...(await customDomainHosts(select))],
    },
    basics,
  );
  const stream = createStream(
    {
      store,
      secrets,
      settings,
      roles,
      metrics,
      serverUrl: baseUrl,
      folder: join(dataDir, "video"),
      tls: certificates.tls,
      own: ownAddresses,
      exposed: isExposed,
    },
    basics,
  );
  lateModules.stream = stream;
  return {
    platform,
    bindings,
    certificates,
    dns,
    mail,
    stream,
    invocationMetrics: runtime.figures!,
    metrics,
    events: store.events,
    rateLimits: store.limits,
    own: ownAddresses,
    cluster: late.cluster,
    store,
  };
}

/** Whether a worker is served at its own host or, by path, at a host that it shares with others. */
function siteOfDomain(domain: string): NonNullable<RuntimeOptions["siteOf"]> {
  return ({ headers: { host } }, script) => {
    const parent = workerParent(host, domain);
    return parent === undefined ? { kind: "shared", path: `/workers/${script}` } : { kind: "own", parent };
  };
}

/** Returns the live processes with a role; before join(), only this one. */
const peersOf =
  (nodes: () => ReturnType<Cluster["nodes"]>, id: string): Peers =>
  (role) => {
    const peers = nodes().filter((node) => node.roles.includes(role) && !node.isDraining);
    const index = peers.findIndex((node) => node.id === id);
    return index === -1 ? noPeers(role) : { count: peers.length, index };
  };
