import { sql } from "kysely";
import type { Db, Migration } from "../../store/index.ts";
import type { WatermarkProfile } from "../videos/index.ts";

interface WatermarkTables {
  stream_watermarks: WatermarkRow;
}

export interface WatermarkRow {
  uid: string;
  account_id: string;
  name: string;
  /** Size in bytes as uploaded. */
  size: number;
  width: number;
  height: number;
  opacity: number;
  padding: number;
  scale: number;
  position: WatermarkProfile["position"];
  downloaded_from: string | null;
  created_at: number;
  deleted_at: number | null;
  /** Key of the image. Null: `stream-watermarks/<uid>.png`. */
  object_key: string | null;
}

export const streamWatermarksMigrations: Migration[] = [
  {
    name: "stream-watermarks-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_watermarks")
        .addColumn("uid", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("name", "text", (column) => column.notNull())
        .addColumn("size", "integer", (column) => column.notNull())
        .addColumn("width", "integer", (column) => column.notNull())
        .addColumn("height", "integer", (column) => column.notNull())
        .addColumn("opacity", "double precision", (column) => column.notNull())
        .addColumn("padding", "double precision", (column) => column.notNull())
        .addColumn("scale", "double precision", (column) => column.notNull())
        .addColumn("position", key, (column) => column.notNull())
        .addColumn("downloaded_from", "text")
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("deleted_at", "bigint")
        .execute();
      await sql`create index stream_watermarks_account on stream_watermarks (account_id, created_at, uid) where deleted_at is null`.execute(
        db,
      );
      await sql`create index stream_watermarks_deleted on stream_watermarks (deleted_at) where deleted_at is not null`.execute(
        db,
      );
    },
  },
  {
    name: "stream-watermarks-002-object-key",
    async up(db) {
      await db.schema.alterTable("stream_watermarks").addColumn("object_key", "text").execute();
    },
  },
];

type WatermarkImage = Pick<WatermarkRow, "uid" | "object_key">;

interface WatermarksTable {
  /** False if the account already has `max` profiles. */
  insert(row: WatermarkRow, max: number): Promise<boolean>;
  list(account: string): Promise<WatermarkRow[]>;
  find(account: string, uid: string): Promise<WatermarkRow | undefined>;
  /** Resolves with true if a profile of any account has this uid, or had it and its image has not yet been deleted. */
  exists(uid: string): Promise<boolean>;
  /** False if the profile does not exist. Its image is kept. */
  delete(account: string, uid: string, now: number): Promise<boolean>;
  /** Also finds the image of a deleted profile. */
  image(uid: string): Promise<WatermarkImage | undefined>;
  deletedBefore(time: number, limit: number): Promise<WatermarkImage[]>;
  forget(uids: readonly string[]): Promise<void>;
}

export function createWatermarksTable(db: Db): WatermarksTable {
  const watermarks = db.tables<WatermarkTables>();
  return {
    insert: (row, max) =>
      db.transaction<WatermarkTables, boolean>(async (tx) => {
        const { count } = await tx
          .selectFrom("stream_watermarks")
          .select(({ fn }) => fn.countAll<number>().as("count"))
          .where("account_id", "=", row.account_id)
          .where("deleted_at", "is", null)
          .executeTakeFirstOrThrow();
        if (Number(count) >= max) return false;
        await tx.insertInto("stream_watermarks").values(row).execute();
        return true;
      }),
    list: (account) =>
      watermarks
        .selectFrom("stream_watermarks")
        .selectAll()
        .where("account_id", "=", account)
        .where("deleted_at", "is", null)
        .orderBy("created_at")
        .orderBy("uid")
        .execute(),
    find: (account, uid) =>
      watermarks
        .selectFrom("stream_watermarks")
        .selectAll()
        .where("uid", "=", uid)
        .where("account_id", "=", account)
        .where("deleted_at", "is", null)
        .executeTakeFirst(),
    exists: async (uid) =>
      (await watermarks.selectFrom("stream_watermarks").select("uid").where("uid", "=", uid).executeTakeFirst()) !==
      undefined,
    delete: async (account, uid, now) =>
      (
        await db.write(
          watermarks
            .updateTable("stream_watermarks")
            .set({ deleted_at: now })
            .where("uid", "=", uid)
            .where("account_id", "=", account)
            .where("deleted_at", "is", null),
        )
      ).affected > 0,
    image: (uid) =>
      watermarks
        .selectFrom("stream_watermarks")
        .select(["uid", "object_key"])
        .where("uid", "=", uid)
        .executeTakeFirst(),
    deletedBefore: (time, limit) =>
      watermarks
        .selectFrom("stream_watermarks")
        .select(["uid", "object_key"])
        .where("deleted_at", "<", time)
        .orderBy("deleted_at")
        .limit(limit)
        .execute(),
    async forget(uids) {
      if (uids.length > 0) await db.write(watermarks.deleteFrom("stream_watermarks").where("uid", "in", uids));
    },
  };
}
