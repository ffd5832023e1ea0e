import type { Page, PageRequest } from "../../kernel/index.ts";
import type { Zone, ZoneQuery } from "../../zones/index.ts";
import type { RoutingDns } from "./dns.ts";
import { routingStatus } from "./examine.ts";
import { namesOf, namesOfAll, touchZone, zoneRows, type NameRow, type ZoneRow } from "./names-table.ts";
import type { RoutingDeps } from "./deps.ts";
import type { RoutingTables } from "./tables.ts";
import type { RoutedName, RoutingSettings } from "./types.ts";

interface SettingsChange {
  skipWizard?: boolean | undefined;
  supportSubaddress?: boolean | undefined;
}

export interface ZoneSettings {
  of(zone: Zone): Promise<RoutingSettings>;
  /** Omitted fields keep their values. */
  update(zone: Zone, change: SettingsChange): Promise<RoutingSettings>;
  /** Lists all zones of an account except hidden ones, sorted by name, whether or not mail is routed. */
  list(account: string, page: PageRequest, options?: ListOptions): Promise<Page<RoutingSettings>>;
}

interface ListOptions {
  /** Ids of zones to omit. */
  hidden?: readonly string[];
  name?: ZoneQuery["name"];
}

export function createSettings({ db, clock, zones, notifyChanged }: RoutingDeps, dns: RoutingDns): ZoneSettings {
  const tables = db.tables<RoutingTables>();

  async function toSettings(
    zone: Zone,
    storedRow: ZoneRow | undefined,
    names: readonly NameRow[],
  ): Promise<RoutingSettings> {
    const ownName = names.find(({ name }) => name === zone.name);
    const status = async (name: string, enabled: boolean) =>
      enabled
        ? routingStatus(true, await dns.examine(zone, name))
        : routingStatus(false, { problems: [], unlocked: false });
    const subdomainNames = names.filter(({ name }) => name !== zone.name);
    const enabled = ownName?.enabled ?? false;
    return {
      id: zone.id,
      account: zone.account,
      name: zone.name,
      enabled,
      status: await status(zone.name, enabled),
      skipWizard: storedRow?.skipWizard ?? true,
      supportSubaddress: storedRow?.supportSubaddress ?? false,
      createdAt: storedRow?.createdAt ?? zone.createdAt,
      modifiedAt: storedRow?.modifiedAt ?? zone.createdAt,
      subdomains: await Promise.all(
        subdomainNames.map(async (row): Promise<RoutedName> => ({
          id: row.id,
          name: row.name,
          enabled: row.enabled,
          status: await status(row.name, row.enabled),
        })),
      ),
    };
  }

  const settingsOf = async (zone: Zone) =>
    toSettings(zone, (await zoneRows(tables, [zone.id]))[0], await namesOf(tables, zone.id));

  return {
    of: settingsOf,
    async update(zone, change) {
      await db.transaction<RoutingTables, void>((tx) => touchZone(tx, zone, change, clock));
      notifyChanged(zone.id);
      return settingsOf(zone);
    },
    async list(account, page, { hidden = [], name } = {}) {
      const { items, total } = await zones.list({ visible: { accounts: [account], zones: [], hidden }, name }, page);
      const ids = items.map(({ id }) => id);
      const [storedRows, names] = [await zoneRows(tables, ids), await namesOfAll(tables, ids)];
      const shownSettings = items.map((zone) =>
        toSettings(
          zone,
          storedRows.find((row) => row.zone === zone.id),
          names.filter((row) => row.zone === zone.id),
        ),
      );
      return { items: await Promise.all(shownSettings), total };
    },
  };
}
