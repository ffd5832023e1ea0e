import { hostname } from "node:os";
import { createApiHandler, createPlatformApi, createPlatformHttp, type PlatformHttp } from "../api/index.ts";
import { createSignInHttp, type Dashboard } from "../dashboard/index.ts";
import { createClientAddress } from "../kernel/client-address.ts";
import type { Basics, Log } from "../kernel/index.ts";
import { createProxyReceiver, type ProxyReceiver } from "../kernel/proxy-protocol/index.ts";
import type { ConnectionLimits } from "../kernel/connection-limits.ts";
import { networkSet } from "../kernel/networks.ts";
import type { SettingOrigin } from "../kernel/settings-read.ts";
import type { Settings } from "../kernel/settings.ts";
import { countRunningJobs } from "../store/index.ts";
import { countBroadcastLeases } from "../stream/index.ts";
import { effectiveSettings } from "./effective-settings.ts";
import { createHealthChecks } from "./health.ts";
import { confinementFindings, confinementText } from "./confinement.ts";
import { clusterFindings, clusterStatus } from "./cluster-status.ts";
import { createDoctor } from "./doctor/doctor.ts";
import { endpointsOf } from "./endpoints.ts";
import { frontPageLinks } from "./front-page.ts";
import { createOwnHosts, hasApiHost } from "./own-hosts.ts";
import { checkObjectStore, createObjectStoreProbe } from "./object-store-check.ts";
import { createProbes } from "./probes.ts";
import type { ProcessRole } from "./roles.ts";
import type { ServeModules } from "./serve-modules.ts";
import type { ServeOptions } from "./serve-options.ts";
import { createServeDashboard } from "./serve-dashboard.ts";
import type { ServeUrls } from "./serve-urls.ts";

interface ServeHttpDeps {
  modules: ServeModules;
  settings: Settings;
  origins: ReadonlyMap<string, SettingOrigin>;
  roles: ReadonlySet<ProcessRole>;
  options: Pick<ServeOptions, "version" | "checkResponses">;
  graceMs: number;
  nodeId: string;
  /** The account whose workers are reachable under /workers/<worker>/. */
  account: { id: string } | undefined;
  /** The label of that account in the host names of its workers. */
  label: string | undefined;
  urls: ServeUrls;
}

/** Creates the HTTP server of the platform, with the endpoints for this process's roles, and the dashboard. */
export function createServeHttp(
  {
    modules,
    settings,
    origins,
    roles,
    options: { version, checkResponses = false },
    graceMs,
    nodeId,
    account,
    label,
    urls,
  }: ServeHttpDeps,
  basics: Basics,
): { http: PlatformHttp; dashboard: Dashboard | undefined } {
  const {
    platform,
    bindings,
    certificates,
    dns,
    mail,
    stream,
    invocationMetrics,
    metrics,
    events,
    rateLimits,
    cluster,
    store,
  } = modules;
  const { accounts, zones, scripts, assets, objectNamespaces, tails, live, routing } = platform;
  const { clock, ids, log, lifecycle } = basics;
  const confinement = () => confinementFindings({ settings, media: stream.media });
  const isOwnHost = createOwnHosts(settings);
  const startedAt = clock.now();
  const ready = async () => void (await platform.defaultAccount());
  const checkedObjects = { objects: store.objects, ids };
  const objects = createObjectStoreProbe(checkedObjects);
  const self = {
    id: nodeId,
    name: hostname(),
    address: "",
    roles: [...roles],
    version,
    load: 0,
    startedAt,
    silentMs: 0,
    isDraining: false,
  };
  const statusDeps = {
    cluster,
    self,
    ready,
    standbys: async () => cluster?.standbys(),
    objects,
    leases: async () => [
      ...(await countRunningJobs(store.db)).map((jobs) => ({ ...jobs, kind: `job ${jobs.kind}` })),
      ...(await countBroadcastLeases(store.db, clock.now())).map((owner) => ({ ...owner, kind: "broadcast" })),
    ],
  };
  const { wellKnown, ...platformApi } = createPlatformApi(
    {
      accounts,
      zones,
      scripts,
      assets,
      objectNamespaces,
      tails,
      live,
      routing,
      bindings,
      mail,
      stream,
      invocationMetrics,
      lookups: dns.lookups,
      metrics,
      events,
      rateLimits,
    },
    {
      settings,
      version,
      workerUrl: urls.worker,
      isOwnHost,
      diagnose: createDoctor({
        settings,
        mail,
        dns,
        confinement,
        checkBucket: settings.objects.url === "" ? undefined : () => checkObjectStore(checkedObjects, { writes: true }),
        tls: certificates.tls,
        clock,
        nodes: () => clusterFindings(cluster),
      }),
      checkResponses,
      server: {
        describe: () => ({
          version,
          startedAt,
          roles: [...roles],
          database: settings.database.url === "" ? "sqlite" : "postgresql",
          urls: endpointsOf({ roles, urls, videoDomain: settings.stream.delivery_domain }),
        }),
        cluster: () => clusterStatus(statusDeps),
        settings: () => effectiveSettings(settings, origins),
        certificates: certificates.list,
      },
      components: createHealthChecks({
        settings,
        mail,
        certificates,
        confinement,
        ready,
        clock,
        databaseTime: cluster?.databaseTime,
      }),
    },
    basics,
  );
  const workers = {
    live,
    bySubdomain: scripts.bySubdomain,
    route: routing.match,
    defaultLabel: async () => account && scripts.subdomain(account.id),
  };
  const pages = createProbes({
    metrics,
    metricsToken: settings.http.metrics_token,
    stopping: lifecycle.stopping,
    ready,
    roles,
    checkObjects: objects.check,
    confinement: async () => confinementText(await confinement()),
    frontPage: (hostname) => frontPageLinks({ roles, urls, settings }, hostname),
  });
  const receive = proxyReceiver(settings, log);
  const deliversVideo = roles.has("playback") || roles.has("live");
  const dashboard =
    roles.has("api") && settings.dashboard.enabled
      ? createServeDashboard({
          settings,
          roles,
          version,
          urls,
          label,
          api: { handle: createApiHandler(platformApi.api), upgrade: platformApi.upgrade },
          auth: createSignInHttp({
            signIn: accounts.signIn,
            address: createClientAddress(settings.http.trusted_proxies),
            ids,
            log,
          }),
          isSignedIn: platformApi.isSignedIn,
          graceMs,
          log,
          ...(receive && { receive }),
        })
      : undefined;
  const prefixes = { ...platformApi.prefixes, ...platform.r2Http.prefixes };
  const apiPrefixes = Object.keys(prefixes);
  const dashboardHosts = new Set(settings.dashboard.enabled ? settings.dashboard.hosts.map(hostInLowerCase) : []);
  const http = createPlatformHttp({
    ...(roles.has("api") && platformApi),
    ...(roles.has("workers") && { workers }),
    assets: stream.deliverAssets,
    ...(deliversVideo ? { others: [stream.deliver] } : roles.has("api") && { others: [stream.deliverAssets] }),
    hosts: {
      domain: settings.workers.domain,
      videoDomain: settings.stream.delivery_domain,
      uploadHost: settings.stream.upload_host,
      platformHosts: settings.api.hosts,
      isOwnHost,
      hasApiHost: hasApiHost(settings),
      byPath: settings.workers.by_path,
    },
    pages,
    connections: connectionLimits(settings),
    ...(receive && { receive }),
    ...(roles.has("api") && {
      prefixes,
      sites: platform.r2Http.handlerFor,
    }),
    ...(dashboard !== undefined && { dashboard }),
    wellKnown: [certificates.respond, ...wellKnown],
    ...(cluster?.forwarding !== undefined &&
      FORWARDED_ROLES.some((role) => !roles.has(role)) && {
        forwarding: {
          ...cluster.forwarding,
          api: {
            prefixes: apiPrefixes,
            isDashboard: (host: string) => dashboardHosts.has(host),
            isSite: async (host: string) => (await platform.r2Http.handlerFor(host)) !== undefined,
          },
          route: routing.match,
        },
      }),
    log,
    graceMs,
  });
  return { http, dashboard };
}

const FORWARDED_ROLES = ["api", "workers", "playback", "live"] as const;

const hostInLowerCase = (host: string) => host.toLowerCase();

const connectionLimits = ({ http }: Settings): ConnectionLimits => ({
  total: http.connections,
  perNetwork: http.connections_per_address,
  shared: networkSet(
    http.trusted_proxies,
    (range) => new TypeError(`http.trusted_proxies: ${range} is neither an address nor a range`),
  ),
});

/** Returns undefined if no load balancer is configured to send PROXY headers. */
function proxyReceiver({ http }: Settings, log: Log): ProxyReceiver | undefined {
  if (http.proxies.length === 0) return undefined;
  return createProxyReceiver({
    isProxy: networkSet(
      http.proxies,
      (range) => new TypeError(`http.proxies: ${range} is neither an address nor a range`),
    ),
    maxPending: http.connections,
    onRefused: (proxy, reason) =>
      log.info({ proxy, reason }, "http: no valid PROXY header received from an address listed in http.proxies"),
  });
}
