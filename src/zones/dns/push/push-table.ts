import type { RecordType } from "../../../protocol/dns/index.ts";
import { recordDigest } from "../../records/check.ts";
import type { RecordZone } from "../../records/types.ts";
import type { ProviderRecord } from "../provider/port.ts";
import type { PushExecutor } from "./tables.ts";

/** A reason why records of a zone cannot be pushed. */
export interface PushProblem {
  /** The component that owns the records; "zone" for records that users created. */
  owner: string;
  code: string;
  /** For users: the problem and its fix. */
  message: string;
}

export interface PushedRecord extends ProviderRecord {
  owner: string;
  applied: boolean;
}

interface PushState {
  name: string;
  account: string;
  tried: number;
  pushed: number | null;
  problems: PushProblem[];
  changedAt: number;
}

const ROWS_AT_ONCE = 200;

export async function findPushState(db: PushExecutor, zone: string): Promise<PushState | undefined> {
  const row = await db.selectFrom("dns_pushes").selectAll().where("zone_id", "=", zone).executeTakeFirst();
  return (
    row && {
      name: row.name,
      account: row.account_id,
      tried: row.tried_serial,
      pushed: row.pushed_serial,
      problems: JSON.parse(row.problems) as PushProblem[],
      changedAt: row.changed_at,
    }
  );
}

export async function beginPush(db: PushExecutor, zone: RecordZone, serial: number, now: number): Promise<void> {
  const row = {
    zone_id: zone.id,
    account_id: zone.account,
    name: zone.name,
    tried_serial: serial,
    pushed_serial: null,
    problems: "[]",
    changed_at: now,
  };
  await db
    .insertInto("dns_pushes")
    .values(row)
    .onConflict((conflict) => conflict.column("zone_id").doUpdateSet({ tried_serial: serial, changed_at: now }))
    .execute();
}

export async function endPush(
  db: PushExecutor,
  zone: string,
  change: { pushed?: number; problems: PushProblem[] },
  now: number,
): Promise<void> {
  const { pushed, problems } = change;
  await db
    .updateTable("dns_pushes")
    .set({
      problems: JSON.stringify(problems),
      changed_at: now,
      ...(pushed !== undefined && { pushed_serial: pushed }),
    })
    .where("zone_id", "=", zone)
    .execute();
}

export async function deletePushState(db: PushExecutor, zone: string): Promise<void> {
  await db.deleteFrom("dns_pushed_records").where("zone_id", "=", zone).execute();
  await db.deleteFrom("dns_pushes").where("zone_id", "=", zone).execute();
}

export async function pushedRecords(db: PushExecutor, zone: string): Promise<PushedRecord[]> {
  const rows = await db.selectFrom("dns_pushed_records").selectAll().where("zone_id", "=", zone).execute();
  return rows.map(({ name, type, content, priority, ttl, owner, applied }) => ({
    name,
    type: type as RecordType,
    content,
    priority,
    ttl,
    owner,
    applied: applied === 1,
  }));
}

export async function storePushedRecords(
  db: PushExecutor,
  zone: string,
  owner: string,
  records: readonly ProviderRecord[],
  applied: boolean,
): Promise<void> {
  for (let at = 0; at < records.length; at += ROWS_AT_ONCE) {
    const rows = records.slice(at, at + ROWS_AT_ONCE).map(({ name, type, content, priority, ttl }) => ({
      zone_id: zone,
      name,
      type,
      digest: recordDigest({ priority, content }),
      owner,
      content,
      priority,
      ttl,
      applied: Number(applied),
    }));
    await db
      .insertInto("dns_pushed_records")
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .columns(["zone_id", "name", "type", "digest"])
          .doUpdateSet((eb) => ({ owner: eb.ref("excluded.owner"), applied: eb.ref("excluded.applied") })),
      )
      .execute();
  }
}

export async function deletePushedRecords(
  db: PushExecutor,
  zone: string,
  records: readonly ProviderRecord[],
): Promise<void> {
  for (const { name, type, content, priority } of records) {
    await db
      .deleteFrom("dns_pushed_records")
      .where("zone_id", "=", zone)
      .where("name", "=", name)
      .where("type", "=", type)
      .where("digest", "=", recordDigest({ priority, content }))
      .execute();
  }
}

/** Ids of zones with a change for which no push has started, at most `limit`; includes deleted zones. */
export async function zonesToPush(db: PushExecutor, after: string, limit: number): Promise<string[]> {
  const changedZones = await db
    .selectFrom("zones")
    .leftJoin("dns_pushes", "dns_pushes.zone_id", "zones.id")
    .select("zones.id as id")
    .where("zones.type", "=", "full")
    .where("zones.id", ">", after)
    .where((eb) =>
      eb.or([eb("dns_pushes.zone_id", "is", null), eb("dns_pushes.tried_serial", "<>", eb.ref("zones.serial"))]),
    )
    .orderBy("zones.id")
    .limit(limit)
    .execute();
  return changedZones.map(({ id }) => id);
}

export async function deletedZonesToPush(db: PushExecutor, limit: number): Promise<string[]> {
  const deletedZones = await db
    .selectFrom("dns_pushes")
    .leftJoin("zones", "zones.id", "dns_pushes.zone_id")
    .select("dns_pushes.zone_id as id")
    .where("zones.id", "is", null)
    .limit(limit)
    .execute();
  return deletedZones.map(({ id }) => id);
}
