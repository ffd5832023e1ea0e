import type { Ids } from "../../kernel/index.ts";
import type { DomainsTable } from "./domains-table.ts";
import { workerRoutingErrors } from "./errors.ts";
import { routingLimits } from "./limits.ts";
import { hostOf } from "./pattern.ts";
import type { CheckDomainAccess, WorkerDomain, Domains, RoutingZone, RoutingZones, WantedDomain } from "./port.ts";
import type { DomainRow } from "./schema.ts";
import { zoneFor } from "./zone-lookup.ts";

interface DomainsDeps {
  table: DomainsTable;
  zones: RoutingZones;
  hasScript(account: string, script: string): Promise<boolean>;
  /** Called after each change. */
  onChange(): Promise<void>;
  ids: Ids;
}

interface PlannedDomain {
  zone: RoutingZone;
  row: DomainRow;
  /** The existing row for the host name. */
  existingRow: DomainRow | undefined;
}

interface ChangeOptions {
  /** True to take over domains of other workers, and to replace other DNS records. */
  override: { origins: boolean; records: boolean };
  checkAccess: CheckDomainAccess;
}

const KEEP_RECORDS = { origins: true, records: false };

interface DomainStore extends Domains {
  /** Detaches all domains of a deleted worker. */
  removeScript(account: string, script: string): Promise<void>;
}

export function createDomains({ table, zones, hasScript, onChange, ids }: DomainsDeps): DomainStore {
  /** Finds the zones and existing rows of the domains. Throws badHostname, zoneMissing, othersZone. */
  async function planDomains(
    account: string,
    script: string,
    domains: readonly WantedDomain[],
  ): Promise<PlannedDomain[]> {
    const plannedDomains: PlannedDomain[] = [];
    for (const { hostname: givenName, zoneId, zoneName, enabled = true, previewsEnabled = false } of domains) {
      const hostname = hostnameOf(givenName);
      if (plannedDomains.some(({ row }) => row.hostname === hostname))
        throw workerRoutingErrors.badHostname({ hostname, reason: "it is listed twice" });
      const zone = await zoneFor(zones, account, { host: hostname, zoneId, zoneName });
      const [existingRow] = await table.listByHostnames([hostname]);
      plannedDomains.push({
        zone,
        existingRow,
        row: {
          id: existingRow?.id ?? ids.hex(),
          account_id: account,
          zone_id: zone.id,
          zone_name: zone.name,
          hostname,
          script,
          enabled: Number(enabled),
          previews_enabled: Number(previewsEnabled),
        },
      });
    }
    return plannedDomains;
  }

  async function findConflicts(plannedDomains: readonly PlannedDomain[]): Promise<DomainRow[]> {
    const conflictingRows: DomainRow[] = [];
    for (const [zone, zoneDomains] of groupByZone(plannedDomains)) {
      const hosts = await zones.conflicts(
        zone,
        zoneDomains.map(({ row }) => row.hostname),
      );
      conflictingRows.push(...zoneDomains.filter(({ row }) => hosts.includes(row.hostname)).map(({ row }) => row));
    }
    return conflictingRows;
  }

  /** Publishes the DNS records for the current custom domains of the zone. */
  async function publish(zone: RoutingZone, override: boolean): Promise<void> {
    const rows = await table.listByZone(zone.id);
    await zones.publish(
      zone,
      rows.filter(({ enabled }) => enabled === 1).map(({ hostname }) => hostname),
      override,
    );
  }

  async function findZones(rows: readonly DomainRow[]): Promise<RoutingZone[]> {
    const zonesFound = await Promise.all([...new Set(rows.map(({ zone_id }) => zone_id))].map((id) => zones.find(id)));
    return zonesFound.filter((zone) => zone !== undefined);
  }

  /** Throws domainTaken, recordsExist, tooManyRoutes, and the errors of `checkAccess`. */
  async function checkPlan(
    plannedDomains: readonly PlannedDomain[],
    removedRows: readonly DomainRow[],
    { override, checkAccess }: ChangeOptions,
  ): Promise<void> {
    const changedRows = [...plannedDomains.filter(isChanged).map(({ row }) => row), ...removedRows];
    for (const zone of zonesOfRows(changedRows)) checkAccess(zone, "domains");
    // Workers of different accounts can have the same name.
    const isOtherScript = ({ existingRow, row }: PlannedDomain) =>
      existingRow !== undefined && existingRow.account_id !== row.account_id;
    const takenDomain = plannedDomains.find(
      (domain) =>
        isOtherScript(domain) || (domain.existingRow !== undefined && domain.existingRow.script !== domain.row.script),
    );
    if (takenDomain !== undefined && (!override.origins || isOtherScript(takenDomain)))
      throw workerRoutingErrors.domainTaken({
        hostname: takenDomain.row.hostname,
        owner: isOtherScript(takenDomain) ? "another account" : `the Worker ${takenDomain.existingRow!.script}`,
      });
    const conflictingRows = await findConflicts(plannedDomains);
    const [conflict] = conflictingRows;
    if (conflict !== undefined && !override.records)
      throw workerRoutingErrors.recordsExist({ hostname: conflict.hostname });
    for (const zone of zonesOfRows(conflictingRows)) checkAccess(zone, "records");
    await checkLimits(plannedDomains);
  }

  /** Writes the rows and publishes the DNS records. Restores the previous rows if the records cannot be published. */
  async function applyPlan(
    plannedDomains: readonly PlannedDomain[],
    removedRows: readonly DomainRow[],
    options: ChangeOptions,
  ): Promise<void> {
    await checkPlan(plannedDomains, removedRows, options);
    const rows = plannedDomains.map(({ row }) => row);
    const previousRows = [...plannedDomains.flatMap(({ existingRow }) => existingRow ?? []), ...removedRows];
    const addedIds = plannedDomains.filter(({ existingRow }) => existingRow === undefined).map(({ row }) => row.id);
    if (
      !(await table.change(
        rows,
        removedRows.map(({ id }) => id),
      ))
    )
      throw workerRoutingErrors.domainTaken({ hostname: rows[0]!.hostname, owner: "another Worker" });
    const changedZones = await findZones([...rows, ...previousRows]);
    try {
      for (const zone of changedZones) await publish(zone, options.override.records);
    } catch (err) {
      await table.change(previousRows, addedIds);
      for (const zone of changedZones) await publish(zone, false).catch(() => {});
      throw err;
    } finally {
      await onChange();
    }
  }

  async function checkLimits(plannedDomains: readonly PlannedDomain[]): Promise<void> {
    const { domainsPerZone, perServer } = routingLimits;
    for (const [zone, zoneDomains] of groupByZone(plannedDomains)) {
      const addedCount = zoneDomains.filter(({ existingRow }) => existingRow === undefined).length;
      if ((await table.listByZone(zone.id)).length + addedCount > domainsPerZone)
        throw workerRoutingErrors.tooManyRoutes({ owner: "zone", limit: domainsPerZone, what: "custom domains" });
    }
    if ((await table.all(perServer)).length + plannedDomains.length > perServer)
      throw workerRoutingErrors.tooManyRoutes({ owner: "server", limit: perServer, what: "custom domains" });
  }

  async function checkScript(account: string, script: string): Promise<void> {
    if (!(await hasScript(account, script))) throw workerRoutingErrors.routeScriptMissing({ script });
  }

  async function requireDomain(account: string, id: string): Promise<DomainRow> {
    const row = await table.find(account, id);
    if (row === undefined) throw workerRoutingErrors.domainMissing({ domain: id, account });
    return row;
  }

  const findRemovedDomains = async (account: string, script: string, plannedDomains: readonly PlannedDomain[]) =>
    (await table.list(account, { script })).filter(({ id }) => !plannedDomains.some(({ row }) => row.id === id));

  return {
    list: async (account, filter = {}) => (await table.list(account, filter)).map(domainOf),
    get: async (account, id) => domainOf(await requireDomain(account, id)),
    async attach(account, script, domain, checkAccess) {
      const plannedDomains = await planDomains(account, script, [domain]);
      await checkScript(account, script);
      await applyPlan(plannedDomains, [], { override: KEEP_RECORDS, checkAccess });
      return domainOf(plannedDomains[0]!.row);
    },
    async detach(account, id, checkAccess) {
      await applyPlan([], [await requireDomain(account, id)], { override: KEEP_RECORDS, checkAccess });
    },
    async plan(account, script, domains) {
      const plannedDomains = await planDomains(account, script, domains);
      return {
        added: plannedDomains.filter(({ existingRow }) => existingRow === undefined).map(({ row }) => domainOf(row)),
        removed: (await findRemovedDomains(account, script, plannedDomains)).map(domainOf),
        updated: plannedDomains.flatMap(({ row, existingRow }) =>
          existingRow === undefined ? [] : [{ ...domainOf(row), modified: isModified(existingRow, row) }],
        ),
        conflicting: (await findConflicts(plannedDomains)).map(domainOf),
      };
    },
    async replace(account, script, domains, override, checkAccess) {
      const plannedDomains = await planDomains(account, script, domains);
      await checkScript(account, script);
      const removedRows = await findRemovedDomains(account, script, plannedDomains);
      await applyPlan(plannedDomains, removedRows, { override, checkAccess });
      return (await table.list(account, { script })).map(domainOf);
    },
    async validate(account, script, domains, override, checkAccess) {
      const plannedDomains = await planDomains(account, script, domains);
      const removedRows = await findRemovedDomains(account, script, plannedDomains);
      await checkPlan(plannedDomains, removedRows, { override, checkAccess });
    },
    async removeScript(account, script) {
      const rows = await table.list(account, { script });
      // Permission to delete the worker is sufficient to delete its domains too.
      if (rows.length > 0) await applyPlan([], rows, { override: KEEP_RECORDS, checkAccess() {} });
    },
    async enabledHosts() {
      const rows = await table.all(routingLimits.perServer);
      return rows
        .filter(({ enabled }) => enabled === 1)
        .map(({ hostname, account_id: account }) => ({ host: hostname, account }));
    },
  };
}

function hostnameOf(givenName: string): string {
  const fail = (reason: string) =>
    workerRoutingErrors.badHostname({ hostname: JSON.stringify(givenName.slice(0, 200)), reason });
  if (givenName.includes("*")) throw fail("it contains a wildcard");
  if (givenName.includes("/")) throw fail("it contains a path");
  if (givenName.includes(":")) throw fail("it contains a port");
  const host = hostOf(givenName);
  if (host === undefined) throw fail("it is not a host name");
  return host;
}

function groupByZone(plannedDomains: readonly PlannedDomain[]): Map<RoutingZone, PlannedDomain[]> {
  const zones = new Map(plannedDomains.map(({ zone }) => [zone.id, zone]));
  return new Map([...zones.values()].map((zone) => [zone, plannedDomains.filter((each) => each.zone.id === zone.id)]));
}

const zonesOfRows = (rows: readonly DomainRow[]): RoutingZone[] => [
  ...new Map(
    rows.map((row) => [row.zone_id, { id: row.zone_id, account: row.account_id, name: row.zone_name }]),
  ).values(),
];

const isChanged = ({ existingRow, row }: PlannedDomain) =>
  existingRow === undefined || existingRow.zone_id !== row.zone_id || isModified(existingRow, row);

const isModified = (previousRow: DomainRow, nextRow: DomainRow) =>
  previousRow.script !== nextRow.script ||
  previousRow.enabled !== nextRow.enabled ||
  previousRow.previews_enabled !== nextRow.previews_enabled;

const domainOf = (row: DomainRow): WorkerDomain => ({
  id: row.id,
  account: row.account_id,
  zone: row.zone_id,
  zoneName: row.zone_name,
  hostname: row.hostname,
  script: row.script,
  enabled: row.enabled === 1,
  previewsEnabled: row.previews_enabled === 1,
});
