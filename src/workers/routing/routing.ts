import type { IncomingMessage } from "node:http";
import { every } from "../../kernel/periodic.ts";
import { messageOf, type Ids, type Log } from "../../kernel/index.ts";
import type { Db, Events } from "../../store/index.ts";
import type { ScriptRef } from "../scripts/port.ts";
import { createReload } from "../tails/reload.ts";
import { createDomains } from "./domains.ts";
import { createDomainsTable } from "./domains-table.ts";
import type { HostOwners } from "./host-owners.ts";
import { routingLimits } from "./limits.ts";
import { createMatcher, type RouteMatcher } from "./matcher.ts";
import { hostOf, parsePattern } from "./pattern.ts";
import type { RoutingZones, WorkerRouting } from "./port.ts";
import { createRoutes } from "./routes.ts";
import { createRoutesTable } from "./routes-table.ts";

interface RoutingDeps {
  db: Db;
  events: Events;
  zones: RoutingZones;
  owners: Pick<HostOwners, "find">;
  /** Topic of the events for deleted zones. The id of an event is the zone id. */
  zoneDeletedTopic: string;
  hasScript(account: string, script: string): Promise<boolean>;
  schemeOf(request: IncomingMessage): "http" | "https";
  /** False if the hosts of the API are unknown: then no route applies, and a warning is logged if there are routes. */
  hasApiHost: boolean;
  ids: Ids;
  log: Log;
}

interface RouteTarget {
  account: string;
  /** Undefined if no worker runs. */
  script: string | undefined;
}

const TOPIC = "worker-routes";
/** Interval of unconditional reloads, in case a change notification was lost. */
const RELOAD_INTERVAL_MS = 30_000;

export function createWorkerRouting({
  db,
  events,
  zones,
  owners,
  zoneDeletedTopic,
  hasScript,
  schemeOf,
  hasApiHost,
  ids,
  log,
}: RoutingDeps): WorkerRouting {
  const routeTable = createRoutesTable(db);
  const domainTable = createDomainsTable(db);
  const routedRequests = new WeakSet<IncomingMessage>();
  let routes: RouteMatcher<RouteTarget> = createMatcher([]);
  let domains = new Map<string, ScriptRef>();
  let hasNoRules = true;

  const reload = createReload(async () => {
    const rows = await routeTable.all(routingLimits.perServer);
    const hosts = await domainTable.all(routingLimits.perServer);
    routes = createMatcher(
      rows.map(({ account_id: account, pattern, script }) => ({
        ...parsePattern(pattern),
        target: { account, script: script ?? undefined },
      })),
    );
    domains = new Map(
      hosts
        .filter(({ enabled }) => enabled === 1)
        .map(({ hostname, account_id: account, script }) => [hostname, { account, script }]),
    );
    hasNoRules = rows.length === 0 && domains.size === 0;
    if (!hasApiHost && !hasNoRules) warnOnce();
  });
  let hasWarned = false;
  function warnOnce() {
    if (hasWarned) return;
    hasWarned = true;
    log.warn(
      "workers: routes and custom domains ignored, because the host name of the API is not configured. Set api.hosts or http.public_url",
    );
  }
  const warn = (err: unknown) => log.warn({ err }, `workers: failed to read routes, will retry: ${messageOf(err)}`);

  /** Returns the worker for a request to a host of the account. */
  function matchOwned(
    request: IncomingMessage,
    location: Parameters<typeof routes.match>[0],
    account: string | undefined,
  ): ScriptRef | undefined {
    if (account === undefined) return undefined;
    const domain = domains.get(location.host);
    const script =
      routes.match(location, (target) => target.account === account)?.target.script ??
      (domain?.account === account ? domain.script : undefined);
    if (script === undefined) return undefined;
    routedRequests.add(request);
    return { account, script };
  }

  async function publishChange(): Promise<void> {
    events.publish(TOPIC, "changed");
    await reload();
  }

  async function removeZone(zone: string): Promise<void> {
    await routeTable.deleteByZone(zone);
    await domainTable.deleteByZone(zone);
  }

  /** Deletes routes and domains of deleted zones, because a crash may have prevented their deletion. */
  async function removeOrphans(): Promise<void> {
    const rows = [
      ...(await routeTable.all(routingLimits.perServer)),
      ...(await domainTable.all(routingLimits.perServer)),
    ];
    for (const zone of new Set(rows.map(({ zone_id }) => zone_id)))
      if ((await zones.find(zone)) === undefined) await removeZone(zone);
  }

  const subscriptions = [
    events.subscribe(TOPIC, () => void reload().catch(warn)),
    events.subscribe(zoneDeletedTopic, (zone) => {
      const removal = zone === "" ? removeOrphans() : removeZone(zone);
      void removal.then(publishChange).catch(warn);
    }),
  ];
  const timer = every(RELOAD_INTERVAL_MS, reload, { name: "workers: route reload", log });
  const shared = { zones, hasScript, onChange: publishChange, ids };
  const domainStore = createDomains({ ...shared, table: domainTable });

  return {
    routes: createRoutes({ ...shared, table: routeTable }),
    domains: domainStore,
    isActive: hasApiHost,
    match(request) {
      if (hasNoRules || !hasApiHost) return undefined;
      const host = hostOf((request.headers.host ?? "").replace(/:\d+$/, ""));
      if (host === undefined) return undefined;
      const location = { scheme: schemeOf(request), host, url: urlOf(request) };
      if (routes.match(location) === undefined && !domains.has(host)) return undefined;
      const owner = owners.find(host);
      return owner instanceof Promise
        ? owner.then((account) => matchOwned(request, location, account))
        : matchOwned(request, location, owner);
    },
    isRouted: (request) => routedRequests.has(request),
    references: {
      async rename(tx, change) {
        await routeTable.rename(tx, change);
        await domainTable.rename(tx, change);
        return publishChange;
      },
    },
    async removeScript(account, script) {
      await routeTable.deleteByScript(account, script);
      await domainStore.removeScript(account, script);
      await publishChange();
    },
    async load() {
      await removeOrphans();
      await reload();
    },
    async close() {
      for (const stop of subscriptions) stop();
      await timer.stop();
      await reload().catch(() => {});
    },
  };
}

/** Path and query; a request to a proxy has an absolute URL (RFC 9112 3.2.2). */
function urlOf({ url = "/" }: IncomingMessage): string {
  if (url.startsWith("/")) return url;
  const parsed = URL.parse(url);
  return parsed === null ? url : parsed.pathname + parsed.search;
}
