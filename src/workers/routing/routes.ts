import type { Ids } from "../../kernel/index.ts";
import { routingErrors } from "./errors.ts";
import { routingLimits } from "./limits.ts";
import { isWithin, parsePattern, patternKey } from "./pattern.ts";
import type { Route, Routes, RoutingZone, RoutingZones, WantedRoute } from "./port.ts";
import type { RoutesTable, Written } from "./routes-table.ts";
import type { RouteRow } from "./schema.ts";
import { zoneFor } from "./zone-lookup.ts";

interface RoutesDeps {
  table: RoutesTable;
  zones: RoutingZones;
  hasScript(account: string, script: string): Promise<boolean>;
  /** Call after each change. */
  changed(): Promise<void>;
  ids: Ids;
}

export function createRoutes({ table, zones, hasScript, changed, ids }: RoutesDeps): Routes {
  async function needZone(id: string): Promise<RoutingZone> {
    const zone = await zones.find(id);
    if (zone === undefined) throw routingErrors.zoneMissing({ name: id });
    return zone;
  }

  /** Throws badPattern, outsideZone. */
  function rowOf(zone: RoutingZone, id: string, pattern: string, script: string | undefined): RouteRow {
    const parsed = parsePattern(pattern);
    if (!isWithin(parsed.host, zone.name)) throw routingErrors.outsideZone({ pattern, zone: zone.name });
    return {
      id,
      account_id: zone.account,
      zone_id: zone.id,
      pattern,
      pattern_key: patternKey(parsed),
      script: script ?? null,
    };
  }

  async function checkScript(account: string, script: string | undefined): Promise<void> {
    if (script !== undefined && !(await hasScript(account, script))) throw routingErrors.routeScriptMissing({ script });
  }

  function checkWritten(written: Written, { id, zone_id }: Pick<RouteRow, "id" | "zone_id">): void {
    if (written === "written") return;
    if (written === "missing") throw routingErrors.routeMissing({ route: id, zone: zone_id });
    if (written === "zone full")
      throw routingErrors.tooManyRoutes({ owner: "zone", limit: routingLimits.routesPerZone, what: "routes" });
    if (written === "server full")
      throw routingErrors.tooManyRoutes({ owner: "server", limit: routingLimits.total, what: "routes" });
    throw takenBy(written.taken);
  }

  async function need(zone: string, id: string): Promise<RouteRow> {
    const row = await table.find(zone, id);
    if (row === undefined) throw routingErrors.routeMissing({ route: id, zone });
    return row;
  }

  async function withZoneNames(rows: readonly RouteRow[]): Promise<(Route & { zoneName: string })[]> {
    const names = new Map<string, string>();
    for (const { zone_id } of rows)
      if (!names.has(zone_id)) names.set(zone_id, (await zones.find(zone_id))?.name ?? "");
    return rows.map((row) => ({ ...routeOf(row), zoneName: names.get(row.zone_id)! }));
  }

  async function planRows(account: string, script: string, patterns: readonly WantedRoute[]) {
    const planned: { zone: RoutingZone; row: RouteRow }[] = [];
    const keys = new Set<string>();
    for (const { pattern, ...where } of patterns) {
      const zone = await zoneFor(zones, account, { host: parsePattern(pattern).host, ...where });
      const row = rowOf(zone, ids.hex(), pattern, script);
      const there = await table.withKey(row);
      if (there !== undefined && there.script !== script) throw takenBy(there);
      if (!keys.has(row.pattern_key)) planned.push({ zone, row });
      keys.add(row.pattern_key);
    }
    return planned;
  }

  return {
    list: async (zone) => (await table.ofZone(zone)).map(routeOf),
    ofScript: async (account, script) => withZoneNames(await table.ofScript(account, script)),
    get: async (zone, id) => routeOf(await need(zone, id)),
    async create(zoneId, { pattern, script }) {
      const zone = await needZone(zoneId);
      const row = rowOf(zone, ids.hex(), pattern, script);
      await checkScript(zone.account, script);
      checkWritten(await table.add(row), row);
      await changed();
      return routeOf(row);
    },
    async update(zoneId, id, { pattern, script }) {
      const zone = await needZone(zoneId);
      await need(zoneId, id);
      const row = rowOf(zone, id, pattern, script);
      await checkScript(zone.account, script);
      checkWritten(await table.update(row), row);
      await changed();
      return routeOf(row);
    },
    async delete(zone, id) {
      if (!(await table.delete(zone, id))) throw routingErrors.routeMissing({ route: id, zone });
      await changed();
    },
    plan: async (...wanted) => (await planRows(...wanted)).map(({ zone }) => zone),
    async replace(account, script, patterns) {
      const planned = await planRows(account, script, patterns);
      await checkScript(account, script);
      const rows = planned.map(({ row }) => row);
      checkWritten(await table.replace(account, script, rows), rows[0] ?? { id: "", zone_id: "" });
      await changed();
      return withZoneNames(await table.ofScript(account, script));
    },
  };
}

const takenBy = ({ pattern, script }: RouteRow) =>
  routingErrors.routeExists({ pattern, owner: script === null ? "no Worker" : `the Worker ${script}` });

const routeOf = ({ id, account_id, zone_id, pattern, script }: RouteRow): Route => ({
  id,
  account: account_id,
  zone: zone_id,
  pattern,
  script: script ?? undefined,
});
