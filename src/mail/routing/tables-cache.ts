import type { Clock } from "../../kernel/index.ts";
import { createVersions, type Db, type Events } from "../../store/index.ts";
import { ZONE_DELETED, type Zones } from "../../zones/index.ts";
import { matchTable, type MatchTable } from "./match.ts";
import { namesCalled, zoneRows } from "./names-table.ts";
import { rulesOf } from "./rules-table.ts";
import type { RoutingTables } from "./tables.ts";

/** Published after every change of what `resolve` answers by: with a zone's id, or with `names` when mail is routed for other names than before. */
export const ROUTING_CHANGED = "mail.routing";
const NAMES = "names";

/** The rules by domain, in memory. */
export interface TablesCache {
  /** What is in memory and true: the common case costs no turn of the event loop. Undefined: ask `find`. */
  known(domain: string): { table: MatchTable | undefined } | undefined;
  /** The rules for a domain; undefined when mail for it is not for this server. */
  find(domain: string): Promise<MatchTable | undefined>;
  changed(zone: string, what?: "names"): void;
  close(): void;
}

interface Entry {
  table: MatchTable | undefined;
  names: number | undefined;
  rules: number | undefined;
  at: number;
}

/** Domains of ours in memory. */
const MAX_ROUTED = 5000;
/** Domains that are not ours: strangers name as many as they like, and must not drive ours out. */
const MAX_FOREIGN = 5000;
/** Where other processes write too, an entry is at most this old, should a hint of theirs be lost. */
const MAX_AGE_MS = 30_000;

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
  // Hints of other processes are believed on PostgreSQL too: a rule may act a moment late there, not a mail more than MAX_AGE_MS.
  const versions = createVersions({ events, topic: ROUTING_CHANGED, alone: true });
  /** Counts everything that was heard of: who asks after a change must not get what is being read since before it. */
  let heard = 0;
  const subscriptions = [
    events.subscribe(ZONE_DELETED, () => versions.changed(NAMES)),
    events.subscribe(ROUTING_CHANGED, () => void heard++),
  ];
  const routed = new Map<string, Entry>();
  const foreign = new Map<string, Entry>();
  const loading = new Map<string, Promise<MatchTable | undefined>>();

  function known(domain: string): Entry | undefined {
    const entry = routed.get(domain) ?? foreign.get(domain);
    if (entry === undefined || entry.names !== versions.of(NAMES)) return undefined;
    if (entry.table !== undefined && entry.rules !== versions.of(entry.table.zone.id)) return undefined;
    return db.dialect === "sqlite" || clock.now() - entry.at < MAX_AGE_MS ? entry : undefined;
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
    routed.delete(domain);
    foreign.delete(domain);
    const [map, max] = table === undefined ? [foreign, MAX_FOREIGN] : [routed, MAX_ROUTED];
    if (map.size >= max) map.delete(map.keys().next().value!);
    map.set(domain, { table, names, rules, at: clock.now() });
    return table;
  }

  /** Where a zone stands below another one, its own records are what the world sees: the nearest one wins. */
  async function zoneOf(domain: string) {
    const found = await Promise.all(
      (await namesCalled(tables, domain)).filter(({ enabled }) => enabled).map(({ zone }) => zones.find(zone)),
    );
    return found.filter((zone) => zone !== undefined).sort((a, b) => b.name.length - a.name.length)[0];
  }

  return {
    known,
    find(domain) {
      const entry = known(domain);
      if (entry !== undefined) return Promise.resolve(entry.table);
      const key = `${heard} ${domain}`;
      let mine = loading.get(key);
      if (mine === undefined) {
        mine = load(domain).finally(() => loading.delete(key));
        loading.set(key, mine);
      }
      return mine;
    },
    changed(zone, what) {
      heard++;
      versions.changed(zone);
      if (what === "names") versions.changed(NAMES);
    },
    close() {
      for (const unsubscribe of subscriptions) unsubscribe();
      versions.close();
    },
  };
}
