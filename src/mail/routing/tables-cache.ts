import type { Clock } from "../../kernel/index.ts";
import { createVersions, type Db, type Events } from "../../store/index.ts";
import { ZONE_DELETED, type Zones } from "../../zones/index.ts";
import { matchTable, type MatchTable } from "./match.ts";
import { rowsByName, zoneRows } from "./names-table.ts";
import { rulesOf } from "./rules-table.ts";
import type { RoutingTables } from "./tables.ts";

/**
 * Published after every change that affects `resolve`: with a zone's id, or with `names` if the set of routed names
 * changed.
 */
export const ROUTING_CHANGED = "mail.routing";
const NAMES = "names";

/** An in-memory cache of rules by domain. */
export interface TablesCache {
  /** Returns a valid cached entry synchronously, the common case. Undefined: call `find`. */
  getCached(domain: string): { table: MatchTable | undefined } | undefined;
  /** Returns the rules for a domain; undefined if this server does not receive its mail. */
  find(domain: string): Promise<MatchTable | undefined>;
  /** Like find(), but does not use rules that were read earlier than RELOAD_MS ago, although no change was reported. */
  reload(domain: string): Promise<MatchTable | undefined>;
  invalidate(zone: string, what?: "names"): void;
  close(): void;
}

interface Entry {
  table: MatchTable | undefined;
  names: number | undefined;
  rules: number | undefined;
  at: number;
}

/** Maximum number of cached local domains. */
const MAX_ROUTED_DOMAINS = 5000;
/**
 * Maximum number of cached foreign domains. Separate, because clients can use any number of them and must not evict
 * local ones.
 */
const MAX_FOREIGN_DOMAINS = 5000;
/** Maximum age of an entry if other processes can change the data, in case their notification is lost. */
const MAX_AGE_MS = 30_000;
/** Minimum age of rules that are read again without a reported change. Bounds the reads for a rule without a worker. */
const RELOAD_MS = 250;

export function createTablesCache({
  db,
  events,
  zones,
  clock,
}: {
  db: Db;
  events: Events;
  zones: Pick<Zones, "find">;
  clock: Pick<Clock, "now">;
}): TablesCache {
  const tables = db.tables<RoutingTables>();
  // Notifications are trusted on PostgreSQL too: a rule may take effect slightly late there, but mail is never routed
  // wrongly for more than MAX_AGE_MS.
  const versions = createVersions({ events, topic: ROUTING_CHANGED, alone: true });
  /** Counts all notifications: a query after a change must not get a result whose read started before it. */
  let changes = 0;
  const subscriptions = [
    events.subscribe(ZONE_DELETED, () => versions.markChanged(NAMES)),
    events.subscribe(ROUTING_CHANGED, () => void changes++),
  ];
  const routedTables = new Map<string, Entry>();
  const foreignDomains = new Map<string, Entry>();
  const pendingLoads = new Map<string, Promise<MatchTable | undefined>>();

  function getCached(domain: string): Entry | undefined {
    const entry = routedTables.get(domain) ?? foreignDomains.get(domain);
    if (entry === undefined || entry.names !== versions.of(NAMES)) return undefined;
    if (entry.table !== undefined && entry.rules !== versions.of(entry.table.zone.id)) return undefined;
    return !db.isShared || clock.now() - entry.at < MAX_AGE_MS ? entry : undefined;
  }

  async function load(domain: string): Promise<MatchTable | undefined> {
    const names = versions.of(NAMES);
    const zone = await zoneOf(domain);
    const rules = zone && versions.of(zone.id);
    const table =
      zone &&
      matchTable(
        { id: zone.id, account: zone.account, name: zone.name },
        (await zoneRows(tables, [zone.id]))[0]?.supportSubaddress ?? false,
        await rulesOf(tables, zone.id),
      );
    routedTables.delete(domain);
    foreignDomains.delete(domain);
    const [map, max] = table === undefined ? [foreignDomains, MAX_FOREIGN_DOMAINS] : [routedTables, MAX_ROUTED_DOMAINS];
    if (map.size >= max) map.delete(map.keys().next().value!);
    map.set(domain, { table, names, rules, at: clock.now() });
    return table;
  }

  /** If a zone is under another one, its own records are the public ones: the nearest zone wins. */
  async function zoneOf(domain: string) {
    const loadedZones = await Promise.all(
      (await rowsByName(tables, domain)).filter(({ enabled }) => enabled).map(({ zone }) => zones.find(zone)),
    );
    return loadedZones.filter((zone) => zone !== undefined).sort((a, b) => b.name.length - a.name.length)[0];
  }

  return {
    getCached,
    find(domain) {
      const entry = getCached(domain);
      if (entry !== undefined) return Promise.resolve(entry.table);
      const key = `${changes} ${domain}`;
      let pendingLoad = pendingLoads.get(key);
      if (pendingLoad === undefined) {
        pendingLoad = load(domain).finally(() => pendingLoads.delete(key));
        pendingLoads.set(key, pendingLoad);
      }
      return pendingLoad;
    },
    reload(domain) {
      const entry = getCached(domain);
      return entry !== undefined && clock.now() - entry.at < RELOAD_MS ? Promise.resolve(entry.table) : load(domain);
    },
    invalidate(zone, what) {
      changes++;
      versions.markChanged(zone);
      if (what === "names") versions.markChanged(NAMES);
    },
    close() {
      for (const unsubscribe of subscriptions) unsubscribe();
      versions.close();
    },
  };
}
