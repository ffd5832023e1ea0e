import { sql, type Kysely } from "kysely";
import type { Db, Migration } from "../../../store/index.ts";
import type { BroadcastLeases, BroadcastRow } from "./leases.ts";

interface LeaseTables {
  stream_live_broadcasts: {
    input_uid: string;
    account_id: string;
    /** "": not recorded. */
    video_uid: string;
    owner: string;
    lease_until: number;
    /** Time at which the broadcast ends unless a publisher reconnects; null while a publisher is connected. */
    over_at: number | null;
    timeout_ms: number;
    delete_after_days: number | null;
  };
}

type Row = LeaseTables["stream_live_broadcasts"];

export const broadcastMigrations: Migration[] = [
  {
    name: "live-broadcast-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_live_broadcasts")
        .addColumn("input_uid", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("video_uid", key, (column) => column.notNull())
        .addColumn("owner", key, (column) => column.notNull())
        .addColumn("lease_until", "bigint", (column) => column.notNull())
        .addColumn("over_at", "bigint")
        .addColumn("timeout_ms", "bigint", (column) => column.notNull())
        .addColumn("delete_after_days", "integer")
        .execute();
      await db.schema
        .createIndex("stream_live_broadcasts_lease")
        .on("stream_live_broadcasts")
        .columns(["lease_until", "input_uid"])
        .execute();
    },
  },
];

const BATCH = 500;

export function createLeasesTable(db: Db): BroadcastLeases {
  const tables: Kysely<LeaseTables> = db.tables<LeaseTables>();
  const selectAllRows = tables.selectFrom("stream_live_broadcasts").selectAll();
  const updateOwned = (owner: string) => tables.updateTable("stream_live_broadcasts").where("owner", "=", owner);

  return {
    acquire: (claim) =>
      db.transaction<LeaseTables, Awaited<ReturnType<BroadcastLeases["acquire"]>>>(async (tx) => {
        const { input, account, video, owner, now, until, timeoutMs, deleteAfterDays } = claim;
        const leaseFields = { owner, lease_until: until, timeout_ms: timeoutMs, delete_after_days: deleteAfterDays };
        const row = await tx
          .selectFrom("stream_live_broadcasts")
          .selectAll()
          .where("input_uid", "=", input)
          .executeTakeFirst();
        if (row === undefined) {
          await tx
            .insertInto("stream_live_broadcasts")
            .values({ input_uid: input, account_id: account, video_uid: video, over_at: null, ...leaseFields })
            .execute();
          return { kind: "begun", video };
        }
        if (row.owner !== owner && row.lease_until > now && row.over_at === null) return { kind: "busy" };
        const isExpired = (row.over_at ?? row.lease_until + row.timeout_ms) <= now;
        if (isExpired || (row.video_uid === "") !== (video === "")) {
          await tx
            .updateTable("stream_live_broadcasts")
            .set({ owner, lease_until: until, over_at: now })
            .where("input_uid", "=", input)
            .execute();
          return { kind: "over", row: fromRow({ ...row, owner, lease_until: until, over_at: now }) };
        }
        await tx
          .updateTable("stream_live_broadcasts")
          .set({ ...leaseFields, over_at: null })
          .where("input_uid", "=", input)
          .execute();
        return { kind: "continued", video: row.video_uid };
      }),
    setEndTime: async ({ input, owner }, at) =>
      (await db.write(updateOwned(owner).set({ over_at: at }).where("input_uid", "=", input))).affected > 0,
    drop: async ({ input, owner }) =>
      (
        await db.write(
          tables.deleteFrom("stream_live_broadcasts").where("input_uid", "=", input).where("owner", "=", owner),
        )
      ).affected > 0,
    renew: async (owner, until) =>
      new Set(
        (await db.write(updateOwned(owner).set({ lease_until: until }).returning("input_uid"))).rows.map(
          (row) => row.input_uid,
        ),
      ),
    release: async (owner, now) => void (await db.write(updateOwned(owner).set({ lease_until: now }))),
    expireOthers: async (owner, now) =>
      void (await db.write(
        tables
          .updateTable("stream_live_broadcasts")
          .set({ lease_until: now })
          .where("lease_until", ">", now)
          .where("owner", "!=", owner),
      )),
    findLapsed: async (owner, now) =>
      (
        await db.read(
          selectAllRows
            .where((eb) => eb.or([eb("lease_until", "<=", now), eb("owner", "=", owner)]))
            .orderBy("lease_until")
            .orderBy("input_uid")
            .limit(BATCH),
        )
      ).map(fromRow),
    adopt: async ({ input, owner: before, leaseUntil }, { owner, until }) =>
      (
        await db.write(
          tables
            .updateTable("stream_live_broadcasts")
            .set({ owner, lease_until: until })
            .where("input_uid", "=", input)
            .where("owner", "=", before)
            .where("lease_until", "=", leaseUntil),
        )
      ).affected > 0,
    async find(input) {
      const [row] = await db.read(selectAllRows.where("input_uid", "=", input));
      return row && fromRow(row);
    },
  };
}

/** Counts valid leases by the first 16 digits of their owner; see Ids.lease. At most 500 owners. */
export async function countBroadcastLeases(db: Db, now: number): Promise<{ holder: string; count: number }[]> {
  const holder = sql<string>`substr(owner, 1, 16)`;
  return db.read(
    db
      .tables<LeaseTables>()
      .selectFrom("stream_live_broadcasts")
      .select([holder.as("holder"), sql<number>`count(*)`.as("count")])
      .where("lease_until", ">", now)
      .groupBy(holder)
      .limit(500),
  );
}

const fromRow = (row: Row): BroadcastRow => ({
  input: row.input_uid,
  account: row.account_id,
  video: row.video_uid,
  owner: row.owner,
  leaseUntil: row.lease_until,
  overAt: row.over_at,
  timeoutMs: row.timeout_ms,
  deleteAfterDays: row.delete_after_days,
});
