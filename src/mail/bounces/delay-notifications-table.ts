import { sql } from "kysely";
import type { Db, Migration } from "../../store/index.ts";
import type { MessageRow, OutboundTables, RecipientRow } from "../outbound/index.ts";

/** Few recipients have senders who requested notifications, so these queries use partial indexes. */
export const delayNotificationsMigration: Migration = {
  name: "mail-returns-002-notices",
  async up(db) {
    await sql`create index outbound_late on outbound_recipients (created_at, id) where notify is not null and finished_at is null`.execute(
      db,
    );
    await sql`create index outbound_arrived on outbound_recipients (finished_at, id) where notify is not null and finished_at is not null`.execute(
      db,
    );
  },
};

export interface DelayCursor {
  at: number;
  id: string;
}

export function createDelayNotificationsTable(db: Db) {
  const tables = db.tables<OutboundTables>();
  const recipients = tables.selectFrom("outbound_recipients").selectAll();

  return {
    /** Queued recipients accepted before `until`, in order, starting after `after`. */
    late: (after: DelayCursor, until: number, limit: number): Promise<RecipientRow[]> =>
      db.read(
        recipients
          .where("notify", "is not", null)
          .where("finished_at", "is", null)
          .where("notify", "like", "%DELAY%")
          .where("reply_code", "is not", null)
          .where("created_at", "<=", until)
          .where((eb) => eb(eb.refTuple("created_at", "id"), ">", eb.tuple(after.at, after.id)))
          .orderBy("created_at")
          .orderBy("id")
          .limit(limit),
      ),

    /** Delivered recipients, in order. */
    arrived: (after: DelayCursor, until: number, limit: number): Promise<RecipientRow[]> =>
      db.read(
        recipients
          .where("notify", "is not", null)
          .where("finished_at", "is not", null)
          .where("notify", "like", "%SUCCESS%")
          .where("state", "=", "delivered")
          .where("finished_at", "<=", until)
          .where((eb) => eb(eb.refTuple("finished_at", "id"), ">", eb.tuple(after.at, after.id)))
          .orderBy("finished_at")
          .orderBy("id")
          .limit(limit),
      ),

    async messages(ids: readonly string[]): Promise<Map<string, MessageRow>> {
      if (ids.length === 0) return new Map();
      const rows = await db.read(tables.selectFrom("outbound_messages").selectAll().where("id", "in", ids));
      return new Map(rows.map((row) => [row.id, row]));
    },
  };
}
