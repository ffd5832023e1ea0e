import type { IncomingMessage } from "node:http";
import { every } from "../../kernel/every.ts";
import { messageOf, type Ids, type Log } from "../../kernel/index.ts";
import type { Db, Events } from "../../store/index.ts";
import type { ScriptRef } from "../scripts/port.ts";
import { createReload } from "../tails/reload.ts";
import { createDomains } from "./domains.ts";
import { createDomainsTable } from "./domains-table.ts";
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
  /** The event that a zone was deleted; its id is that of the zone. */
  zoneDeleted: string;
  hasScript(account: string, script: string): Promise<boolean>;
  schemeOf(request: IncomingMessage): "http" | "https";
  ids: Ids;
  log: Log;
}

const TOPIC = "worker-routes";
/** How long a lost notification can remain undetected. */
const RELOAD_MS = 30_000;

export function createWorkerRouting({
  db,
  events,
  zones,
  zoneDeleted,
  hasScript,
  schemeOf,
  ids,
  log,
}: RoutingDeps): WorkerRouting {
  const routeTable = createRoutesTable(db);
  const domainTable = createDomainsTable(db);
  const routed = new WeakSet<IncomingMessage>();
  let routes: RouteMatcher<ScriptRef | undefined> = createMatcher([]);
  let domains = new Map<string, ScriptRef>();
  let isEmpty = true;

  const reload = createReload(async () => {
    const rows = await routeTable.all(routingLimits.total);
    const hosts = await domainTable.all(routingLimits.total);
    routes = createMatcher(
      rows.map(({ account_id: account, pattern, script }) => ({
        ...parsePattern(pattern),
        target: script === null ? undefined : { account, script },
      })),
    );
    domains = new Map(
      hosts
        .filter(({ enabled }) => enabled === 1)
        .map(({ hostname, account_id: account, script }) => [hostname, { account, script }]),
    );
    isEmpty = rows.length === 0 && domains.size === 0;
  });
  const warn = (err: unknown) => log.warn({ err }, `workers: failed to read routes, will retry: ${messageOf(err)}`);

  async function changed(): Promise<void> {
    events.publish(TOPIC, "changed");
    await reload();
  }

  async function removeZone(zone: string): Promise<void> {
    await routeTable.deleteOfZone(zone);
    await domainTable.deleteOfZone(zone);
  }

  /** A crash may have prevented the deletion of routes when their zone was deleted. */
  async function removeOrphans(): Promise<void> {
    const rows = [...(await routeTable.all(routingLimits.total)), ...(await domainTable.all(routingLimits.total))];
    for (const zone of new Set(rows.map(({ zone_id }) => zone_id)))
      if ((await zones.find(zone)) === undefined) await removeZone(zone);
  }

  const unsubscribe = [
    events.subscribe(TOPIC, () => void reload().catch(warn)),
    events.subscribe(zoneDeleted, (zone) => {
      const removed = zone === "" ? removeOrphans() : removeZone(zone);
      void removed.then(changed).catch(warn);
    }),
  ];
  const timer = every(RELOAD_MS, reload, { name: "workers: reading routes", log });
  const parts = { zones, hasScript, changed, ids };
  const ownDomains = createDomains({ ...parts, table: domainTable });

  return {
    routes: createRoutes({ ...parts, table: routeTable }),
    domains: ownDomains,
    match(request) {
      if (isEmpty) return undefined;
      const host = hostOf((request.headers.host ?? "").replace(/:\d+$/, ""));
      if (host === undefined) return undefined;
      const found = routes.match({ scheme: schemeOf(request), host, url: urlOf(request) });
      const target = found?.target ?? domains.get(host);
      if (target !== undefined) routed.add(request);
      return target;
    },
    isRouted: (request) => routed.has(request),
    async removeScript(account, script) {
      await routeTable.deleteOfScript(account, script);
      await ownDomains.removeScript(account, script);
      await changed();
    },
    async load() {
      await removeOrphans();
      await reload();
    },
    async close() {
      for (const stop of unsubscribe) stop();
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
