import type { Clock } from "../../kernel/index.ts";
import type { RoutingExecutor, RoutingTables } from "./tables.ts";

export interface NameRow {
  id: string;
  zone: string;
  account: string;
  name: string;
  enabled: boolean;
  spfRecord: string | null;
}

export interface ZoneRow {
  zone: string;
  account: string;
  skipWizard: boolean;
  supportSubaddress: boolean;
  createdAt: number;
  modifiedAt: number;
}

const toName = (row: RoutingTables["email_routing_names"]): NameRow => ({
  id: row.id,
  zone: row.zone_id,
  account: row.account_id,
  name: row.name,
  enabled: row.enabled === 1,
  spfRecord: row.spf_record,
});

export const namesOf = async (db: RoutingExecutor, zone: string): Promise<NameRow[]> =>
  (await db.selectFrom("email_routing_names").selectAll().where("zone_id", "=", zone).orderBy("name").execute()).map(
    toName,
  );

export const namesOfAll = async (db: RoutingExecutor, zones: readonly string[]): Promise<NameRow[]> =>
  zones.length === 0
    ? []
    : (
        await db.selectFrom("email_routing_names").selectAll().where("zone_id", "in", zones).orderBy("name").execute()
      ).map(toName);

/** Enabled names, sorted. */
export const enabledNames = async (db: RoutingExecutor, limit: number): Promise<{ name: string; account: string }[]> =>
  (
    await db
      .selectFrom("email_routing_names")
      .select(["name", "account_id"])
      .where("enabled", "=", 1)
      .orderBy("name")
      .limit(limit)
      .execute()
  ).map(({ name, account_id: account }) => ({ name, account }));

/** Resolves with rows for this name, in any zone. */
export const rowsByName = async (db: RoutingExecutor, name: string): Promise<NameRow[]> =>
  (await db.selectFrom("email_routing_names").selectAll().where("name", "=", name).execute()).map(toName);

export async function upsertName(
  db: RoutingExecutor,
  { id, zone, account, name, enabled, spfRecord }: NameRow,
  now: number,
): Promise<void> {
  await db
    .insertInto("email_routing_names")
    .values({
      id,
      zone_id: zone,
      account_id: account,
      name,
      enabled: Number(enabled),
      spf_record: spfRecord,
      created_at: now,
      modified_at: now,
    })
    .onConflict((conflict) =>
      conflict
        .columns(["name", "zone_id"])
        .doUpdateSet({ enabled: Number(enabled), spf_record: spfRecord, modified_at: now }),
    )
    .execute();
}

export async function deleteName(db: RoutingExecutor, id: string): Promise<void> {
  await db.deleteFrom("email_routing_names").where("id", "=", id).execute();
}

const toZone = (row: RoutingTables["email_routing_zones"]): ZoneRow => ({
  zone: row.zone_id,
  account: row.account_id,
  skipWizard: row.skip_wizard === 1,
  supportSubaddress: row.support_subaddress === 1,
  createdAt: row.created_at,
  modifiedAt: row.modified_at,
});

export const zoneRows = async (db: RoutingExecutor, zones: readonly string[]): Promise<ZoneRow[]> =>
  zones.length === 0
    ? []
    : (await db.selectFrom("email_routing_zones").selectAll().where("zone_id", "in", zones).execute()).map(toZone);

/** Updates the given settings of a zone and its modification time. */
export async function touchZone(
  db: RoutingExecutor,
  zone: { id: string; account: string },
  change: { skipWizard?: boolean | undefined; supportSubaddress?: boolean | undefined },
  clock: Pick<Clock, "now">,
): Promise<void> {
  const now = clock.now();
  await db
    .insertInto("email_routing_zones")
    .values({
      zone_id: zone.id,
      account_id: zone.account,
      skip_wizard: Number(change.skipWizard ?? true),
      support_subaddress: Number(change.supportSubaddress ?? false),
      created_at: now,
      modified_at: now,
    })
    .onConflict((conflict) =>
      conflict.column("zone_id").doUpdateSet({
        modified_at: now,
        ...(change.skipWizard !== undefined && { skip_wizard: Number(change.skipWizard) }),
        ...(change.supportSubaddress !== undefined && { support_subaddress: Number(change.supportSubaddress) }),
      }),
    )
    .execute();
}

/** Deletes all data of a deleted zone. */
export async function deleteRoutingData(db: RoutingExecutor, zone: string): Promise<void> {
  for (const table of ["email_routing_zones", "email_routing_names", "email_routing_rules"] as const)
    await db.deleteFrom(table).where("zone_id", "=", zone).execute();
}

/** Resolves with the ids of zones that have routing data, in order, starting after this one. */
export async function listZoneIds(db: RoutingExecutor, after: string, limit: number): Promise<string[]> {
  const kept = db
    .selectFrom("email_routing_zones")
    .select("zone_id")
    .union(db.selectFrom("email_routing_rules").select("zone_id"))
    .union(db.selectFrom("email_routing_names").select("zone_id"));
  return (
    await db
      .selectFrom(kept.as("kept"))
      .select("zone_id")
      .where("zone_id", ">", after)
      .orderBy("zone_id")
      .limit(limit)
      .execute()
  ).map(({ zone_id }) => zone_id);
}
