import type { Ids } from "../../kernel/index.ts";
import type { DomainsTable } from "./domains-table.ts";
import { routingErrors } from "./errors.ts";
import { routingLimits } from "./limits.ts";
import { hostOf } from "./pattern.ts";
import type { Domain, Domains, RoutingZone, RoutingZones, WantedDomain } from "./port.ts";
import type { DomainRow } from "./schema.ts";
import { zoneFor } from "./zone-lookup.ts";

interface DomainsDeps {
  table: DomainsTable;
  zones: RoutingZones;
  hasScript(account: string, script: string): Promise<boolean>;
  /** Call after each change. */
  changed(): Promise<void>;
  ids: Ids;
}

interface Planned {
  zone: RoutingZone;
  row: DomainRow;
  /** The row before. */
  before: DomainRow | undefined;
}

interface DomainStore extends Domains {
  /** Detaches all domains of a deleted worker. */
  removeScript(account: string, script: string): Promise<void>;
}

export function createDomains({ table, zones, hasScript, changed, ids }: DomainsDeps): DomainStore {
  /** Throws badHostname, zoneMissing. */
  async function planRows(account: string, script: string, domains: readonly WantedDomain[]): Promise<Planned[]> {
    const planned: Planned[] = [];
    for (const { hostname: given, zoneId, zoneName, enabled = true, previewsEnabled = false } of domains) {
      const hostname = hostnameOf(given);
      if (planned.some(({ row }) => row.hostname === hostname))
        throw routingErrors.badHostname({ hostname, reason: "it is listed twice" });
      const zone = await zoneFor(zones, account, { host: hostname, zoneId, zoneName });
      const [before] = await table.atHosts([hostname]);
      planned.push({
        zone,
        before,
        row: {
          id: before?.id ?? ids.hex(),
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
    return planned;
  }

  async function conflictsOf(planned: readonly Planned[]): Promise<DomainRow[]> {
    const found: DomainRow[] = [];
    for (const [zone, those] of byZone(planned)) {
      const hosts = await zones.conflicts(
        zone,
        those.map(({ row }) => row.hostname),
      );
      found.push(...those.filter(({ row }) => hosts.includes(row.hostname)).map(({ row }) => row));
    }
    return found;
  }

  /** Publishes the DNS records of the zone for the domains that it has now. */
  async function publish(zone: RoutingZone, override: boolean): Promise<void> {
    const rows = await table.ofZone(zone.id);
    await zones.publish(
      zone,
      rows.filter(({ enabled }) => enabled === 1).map(({ hostname }) => hostname),
      override,
    );
  }

  async function withZones(rows: readonly DomainRow[]): Promise<RoutingZone[]> {
    const found = await Promise.all([...new Set(rows.map(({ zone_id }) => zone_id))].map((id) => zones.find(id)));
    return found.filter((zone) => zone !== undefined);
  }

  /** Throws domainTaken, recordsExist, tooManyRoutes. */
  async function check(planned: readonly Planned[], override: { origins: boolean; records: boolean }): Promise<void> {
    const others = planned.find(({ before, row }) => before !== undefined && before.script !== row.script);
    if (others !== undefined && (!override.origins || others.before!.account_id !== others.row.account_id))
      throw routingErrors.domainTaken({ hostname: others.row.hostname, owner: others.before!.script });
    const [conflict] = override.records ? [] : await conflictsOf(planned);
    if (conflict !== undefined) throw routingErrors.recordsExist({ hostname: conflict.hostname });
    await checkLimits(planned);
  }

  /** If the DNS records cannot be published, the domains are as before. */
  async function write(
    planned: readonly Planned[],
    removed: readonly DomainRow[],
    override: { origins: boolean; records: boolean },
  ): Promise<void> {
    await check(planned, override);
    const rows = planned.map(({ row }) => row);
    const restored = [...planned.flatMap(({ before }) => before ?? []), ...removed];
    const added = planned.filter(({ before }) => before === undefined).map(({ row }) => row.id);
    if (
      !(await table.change(
        rows,
        removed.map(({ id }) => id),
      ))
    )
      throw routingErrors.domainTaken({ hostname: rows[0]!.hostname, owner: "of a concurrent request" });
    const touched = await withZones([...rows, ...restored]);
    try {
      for (const zone of touched) await publish(zone, override.records);
    } catch (err) {
      await table.change(restored, added);
      for (const zone of touched) await publish(zone, false).catch(() => {});
      throw err;
    } finally {
      await changed();
    }
  }

  async function checkLimits(planned: readonly Planned[]): Promise<void> {
    const { domainsPerZone, total } = routingLimits;
    for (const [zone, those] of byZone(planned)) {
      const added = those.filter(({ before }) => before === undefined).length;
      if ((await table.ofZone(zone.id)).length + added > domainsPerZone)
        throw routingErrors.tooManyRoutes({ owner: "zone", limit: domainsPerZone, what: "custom domains" });
    }
    if ((await table.all(total)).length + planned.length > total)
      throw routingErrors.tooManyRoutes({ owner: "server", limit: total, what: "custom domains" });
  }

  async function checkScript(account: string, script: string): Promise<void> {
    if (!(await hasScript(account, script))) throw routingErrors.routeScriptMissing({ script });
  }

  async function need(account: string, id: string): Promise<DomainRow> {
    const row = await table.find(account, id);
    if (row === undefined) throw routingErrors.domainMissing({ domain: id, account });
    return row;
  }

  const absent = async (account: string, script: string, planned: readonly Planned[]) =>
    (await table.list(account, { script })).filter(({ id }) => !planned.some(({ row }) => row.id === id));

  return {
    list: async (account, filter = {}) => (await table.list(account, filter)).map(domainOf),
    get: async (account, id) => domainOf(await need(account, id)),
    async attach(account, script, domain) {
      const planned = await planRows(account, script, [domain]);
      await checkScript(account, script);
      await write(planned, [], { origins: true, records: false });
      return domainOf(planned[0]!.row);
    },
    async detach(account, id) {
      await write([], [await need(account, id)], { origins: true, records: false });
    },
    async plan(account, script, domains) {
      const planned = await planRows(account, script, domains);
      return {
        added: planned.filter(({ before }) => before === undefined).map(({ row }) => domainOf(row)),
        removed: (await absent(account, script, planned)).map(domainOf),
        updated: planned.flatMap(({ row, before }) =>
          before === undefined ? [] : [{ ...domainOf(row), modified: isModified(before, row) }],
        ),
        conflicting: (await conflictsOf(planned)).map(domainOf),
      };
    },
    async replace(account, script, domains, override) {
      const planned = await planRows(account, script, domains);
      await checkScript(account, script);
      await write(planned, await absent(account, script, planned), override);
      return (await table.list(account, { script })).map(domainOf);
    },
    validate: async (account, script, domains, override) => check(await planRows(account, script, domains), override),
    async removeScript(account, script) {
      const rows = await table.list(account, { script });
      if (rows.length > 0) await write([], rows, { origins: true, records: false });
    },
    async hostnames(limit) {
      const rows = await table.all(routingLimits.total);
      return rows
        .filter(({ enabled }) => enabled === 1)
        .slice(0, limit)
        .map(({ hostname }) => hostname);
    },
  };
}

function hostnameOf(given: string): string {
  const fail = (reason: string) => routingErrors.badHostname({ hostname: JSON.stringify(given.slice(0, 200)), reason });
  if (given.includes("*")) throw fail("it contains a wildcard");
  if (given.includes("/")) throw fail("it contains a path");
  if (given.includes(":")) throw fail("it contains a port");
  const host = hostOf(given);
  if (host === undefined) throw fail("it is not a host name");
  return host;
}

function byZone(planned: readonly Planned[]): Map<RoutingZone, Planned[]> {
  const zones = new Map(planned.map(({ zone }) => [zone.id, zone]));
  return new Map([...zones.values()].map((zone) => [zone, planned.filter((each) => each.zone.id === zone.id)]));
}

const isModified = (before: DomainRow, after: DomainRow) =>
  before.script !== after.script ||
  before.enabled !== after.enabled ||
  before.previews_enabled !== after.previews_enabled;

const domainOf = (row: DomainRow): Domain => ({
  id: row.id,
  account: row.account_id,
  zone: row.zone_id,
  zoneName: row.zone_name,
  hostname: row.hostname,
  script: row.script,
  enabled: row.enabled === 1,
  previewsEnabled: row.previews_enabled === 1,
});
