import type { Ids } from "../../kernel/index.ts";
import { workerRoutingErrors } from "./errors.ts";
import { routingLimits } from "./limits.ts";
import { isWithinZone, parsePattern, patternKey } from "./pattern.ts";
import type { WorkerRoute, Routes, RoutingZone, RoutingZones, WantedRoute } from "./port.ts";
import type { RoutesTable, WriteResult } from "./routes-table.ts";
import type { RouteRow } from "./schema.ts";
import { checkClosestZone, zoneFor } from "./zone-lookup.ts";

interface RoutesDeps {
  table: RoutesTable;
  zones: RoutingZones;
  hasScript(account: string, script: string): Promise<boolean>;
  /** Called after each change. */
  onChange(): Promise<void>;
  ids: Ids;
}

export function createRoutes({ table, zones, hasScript, onChange, ids }: RoutesDeps): Routes {
  async function requireZone(id: string): Promise<RoutingZone> {
    const zone = await zones.find(id);
    if (zone === undefined) throw workerRoutingErrors.zoneMissing({ name: id });
    return zone;
  }

  /** Throws badPattern, outsideZone. */
  function createRow(zone: RoutingZone, id: string, pattern: string, script: string | undefined): RouteRow {
    const parsed = parsePattern(pattern);
    if (!isWithinZone(parsed.host, zone.name)) throw workerRoutingErrors.outsideZone({ pattern, zone: zone.name });
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
    if (script !== undefined && !(await hasScript(account, script)))
      throw workerRoutingErrors.routeScriptMissing({ script });
  }

  function checkResult(result: WriteResult, { id, zone_id }: Pick<RouteRow, "id" | "zone_id">): void {
    if (result === "written") return;
    if (result === "missing") throw workerRoutingErrors.routeMissing({ route: id, zone: zone_id });
    if (result === "zone full")
      throw workerRoutingErrors.tooManyRoutes({ owner: "zone", limit: routingLimits.routesPerZone, what: "routes" });
    if (result === "server full")
      throw workerRoutingErrors.tooManyRoutes({ owner: "server", limit: routingLimits.perServer, what: "routes" });
    throw routeExistsError(result.taken);
  }

  async function requireRoute(zone: string, id: string): Promise<RouteRow> {
    const row = await table.find(zone, id);
    if (row === undefined) throw workerRoutingErrors.routeMissing({ route: id, zone });
    return row;
  }

  async function withZoneNames(rows: readonly RouteRow[]): Promise<(WorkerRoute & { zoneName: string })[]> {
    const names = new Map<string, string>();
    for (const { zone_id } of rows)
      if (!names.has(zone_id)) names.set(zone_id, (await zones.find(zone_id))?.name ?? "");
    return rows.map((row) => ({ ...routeOf(row), zoneName: names.get(row.zone_id)! }));
  }

  async function planRoutes(account: string, script: string, patterns: readonly WantedRoute[]) {
    const plannedRoutes: { zone: RoutingZone; row: RouteRow }[] = [];
    const keys = new Set<string>();
    for (const { pattern, ...zoneRef } of patterns) {
      const zone = await zoneFor(zones, account, { host: parsePattern(pattern).host, ...zoneRef });
      const row = createRow(zone, ids.hex(), pattern, script);
      const existingRow = await table.findByPattern(row);
      if (existingRow !== undefined && existingRow.script !== script) throw routeExistsError(existingRow);
      if (!keys.has(row.pattern_key)) plannedRoutes.push({ zone, row });
      keys.add(row.pattern_key);
    }
    return plannedRoutes;
  }

  return {
    list: async (zone) => (await table.listByZone(zone)).map(routeOf),
    listByScript: async (account, script) => withZoneNames(await table.listByScript(account, script)),
    get: async (zone, id) => routeOf(await requireRoute(zone, id)),
    async create(zoneId, { pattern, script }) {
      const zone = await requireZone(zoneId);
      const row = createRow(zone, ids.hex(), pattern, script);
      await checkClosestZone(zones, zone.account, parsePattern(pattern).host);
      await checkScript(zone.account, script);
      checkResult(await table.add(row), row);
      await onChange();
      return routeOf(row);
    },
    async update(zoneId, id, { pattern, script }) {
      const zone = await requireZone(zoneId);
      await requireRoute(zoneId, id);
      const row = createRow(zone, id, pattern, script);
      await checkClosestZone(zones, zone.account, parsePattern(pattern).host);
      await checkScript(zone.account, script);
      checkResult(await table.update(row), row);
      await onChange();
      return routeOf(row);
    },
    async delete(zone, id) {
      if (!(await table.delete(zone, id))) throw workerRoutingErrors.routeMissing({ route: id, zone });
      await onChange();
    },
    async plan(account, script, patterns) {
      const plannedRoutes = await planRoutes(account, script, patterns);
      const keys = new Set(plannedRoutes.map(({ row }) => keyOf(row)));
      const removedRows = (await table.listByScript(account, script)).filter((row) => !keys.has(keyOf(row)));
      const removedIn = new Set(removedRows.map(({ zone_id }) => zone_id));
      const zonesOfRemoved = await Promise.all([...removedIn].map((id) => zones.find(id)));
      return [...plannedRoutes.map(({ zone }) => zone), ...zonesOfRemoved.filter((zone) => zone !== undefined)];
    },
    async replace(account, script, patterns) {
      const plannedRoutes = await planRoutes(account, script, patterns);
      await checkScript(account, script);
      const rows = plannedRoutes.map(({ row }) => row);
      checkResult(await table.replace(account, script, rows), rows[0] ?? { id: "", zone_id: "" });
      await onChange();
      return withZoneNames(await table.listByScript(account, script));
    },
  };
}

const routeExistsError = ({ pattern, script }: RouteRow) =>
  workerRoutingErrors.routeExists({ pattern, owner: script === null ? "no Worker" : `the Worker ${script}` });

const keyOf = ({ zone_id, pattern_key }: RouteRow) => `${zone_id} ${pattern_key}`;

const routeOf = ({ id, account_id, zone_id, pattern, script }: RouteRow): WorkerRoute => ({
  id,
  account: account_id,
  zone: zone_id,
  pattern,
  script: script ?? undefined,
});
