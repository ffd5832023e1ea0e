import { sql, type Kysely } from "kysely";
import { createGroupCommitter, prepareQuery, type Db, type Migration } from "../../store/index.ts";
import { delayNotificationsMigration } from "./delay-notifications-table.ts";

interface BouncesTables {
  return_paths: PathRow;
  /** Reports already processed. */
  return_marks: { id: string; expires_at: number };
  /** Counters per hour. */
  return_counts: { name: string; hour: number; count: number };
}

export interface PathRow {
  id: string;
  kind: "sent" | "forward";
  /** "" for system mail. */
  account_id: string;
  zone_id: string | null;
  /** Id under which the steps of the message are traced. */
  message_id: string;
  /** Message-ID, with angle brackets. */
  header_id: string;
  /** The sending domain. */
  domain: string | null;
  /** Address that may receive reports; "" for none. */
  sender: string;
  /** The original recipient of a forward. */
  rcpt: string | null;
  /** JSON: the destinations of the message. */
  recipients: string;
  created_at: number;
  expires_at: number;
}

/** Must follow the migrations of the outbound queue: the last of these adds indexes to its table. */
export const bouncesMigrations: Migration[] = [
  {
    name: "mail-returns-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("return_paths")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("kind", key, (column) => column.notNull())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("zone_id", key)
        .addColumn("message_id", key, (column) => column.notNull())
        .addColumn("header_id", "text", (column) => column.notNull())
        .addColumn("domain", "text")
        .addColumn("sender", "text", (column) => column.notNull())
        .addColumn("rcpt", "text")
        .addColumn("recipients", "text", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("return_paths_expiry").on("return_paths").columns(["expires_at", "id"]).execute();
      await db.schema
        .createTable("return_marks")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("return_marks_expiry").on("return_marks").columns(["expires_at", "id"]).execute();
      await db.schema
        .createTable("return_counts")
        .addColumn("name", key, (column) => column.notNull())
        .addColumn("hour", "bigint", (column) => column.notNull())
        .addColumn("count", "integer", (column) => column.notNull())
        .addPrimaryKeyConstraint("return_counts_key", ["name", "hour"])
        .execute();
      await db.schema.createIndex("return_counts_hour").on("return_counts").columns(["hour", "name"]).execute();
    },
  },
  delayNotificationsMigration,
];

export type BouncesTable = ReturnType<typeof createBouncesTable>;

const BATCH_SIZE = 500;
const HOUR_MS = 3_600_000;

export function createBouncesTable(db: Db) {
  const tables: Kysely<BouncesTables> = db.tables<BouncesTables>();
  const commits = createGroupCommitter(db);
  const pathById = prepareQuery<PathRow>((arg) =>
    tables.selectFrom("return_paths").selectAll().where("id", "=", arg<string>("id")),
  );
  const counted = prepareQuery<{ count: number }>((arg) =>
    tables
      .insertInto("return_counts")
      .values({ name: arg<string>("name"), hour: arg<number>("hour"), count: 1 })
      .onConflict((conflict) =>
        conflict.columns(["name", "hour"]).doUpdateSet((eb) => ({ count: eb("return_counts.count", "+", 1) })),
      )
      .returning("count"),
  );

  return {
    /** Each forward inserts a path while its sender waits; concurrent inserts share a commit. */
    insertPath: (row: PathRow): Promise<unknown> => commits.write(tables.insertInto("return_paths").values(row)),

    insertPaths: (rows: readonly PathRow[]): Promise<unknown> =>
      db.write(tables.insertInto("return_paths").values([...rows])),

    path: async (id: string): Promise<PathRow | undefined> => (await db.read(pathById({ id })))[0],

    /** Returns those of the ids that are marked. */
    async marked(ids: readonly string[]): Promise<Set<string>> {
      if (ids.length === 0) return new Set();
      return new Set(
        (await db.read(tables.selectFrom("return_marks").select("id").where("id", "in", ids))).map(({ id }) => id),
      );
    },

    markedUntil: async (id: string): Promise<number | undefined> =>
      (await db.read(tables.selectFrom("return_marks").select("expires_at").where("id", "=", id)))[0]?.expires_at,

    /** An unexpired mark is left unchanged; an expired one is renewed. */
    async mark(ids: readonly string[], expiresAt: number, now: number): Promise<void> {
      if (ids.length === 0) return;
      const rows = ids.map((id) => ({ id, expires_at: expiresAt }));
      await db.write(
        tables
          .insertInto("return_marks")
          .values(rows)
          .onConflict((conflict) =>
            conflict.column("id").doUpdateSet({ expires_at: expiresAt }).where("return_marks.expires_at", "<", now),
          ),
      );
    },

    /** Increments the counter of `name` for this hour; resolves with the new value. */
    async count(name: string, now: number): Promise<number> {
      return (await db.write(counted({ name, hour: Math.floor(now / HOUR_MS) }))).rows[0]!.count;
    },

    /** Deletes a bounded number of expired rows. Resolves with true if there may be more. */
    async sweep(now: number): Promise<boolean> {
      const paths = tables
        .selectFrom("return_paths")
        .select("id")
        .where("expires_at", "<", now)
        .orderBy("expires_at")
        .orderBy("id")
        .limit(BATCH_SIZE);
      const marks = tables
        .selectFrom("return_marks")
        .select("id")
        .where("expires_at", "<", now)
        .orderBy("expires_at")
        .orderBy("id")
        .limit(BATCH_SIZE);
      const deletions = [
        await db.write(tables.deleteFrom("return_paths").where("id", "in", paths)),
        await db.write(tables.deleteFrom("return_marks").where("id", "in", marks)),
      ];
      await db.write(tables.deleteFrom("return_counts").where("hour", "<", Math.floor(now / HOUR_MS) - 1));
      return deletions.some(({ affected }) => affected === BATCH_SIZE);
    },
  };
}
