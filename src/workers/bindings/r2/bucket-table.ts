import { sql } from "kysely";
import { prepareQuery, isUniqueViolation, type Db, type Migration } from "../../../store/index.ts";
import type { R2Tables } from "./schema.ts";

/**
 * `removing`: a deletion is checking whether the bucket is empty; writers are rejected meanwhile. `removed`: deleted
 * for all callers; remembered because a writer on another machine may have left objects at the last moment.
 */
type BucketState = "live" | "removing" | "removed";

interface BucketTables {
  r2_buckets: {
    /** 32 hex digits: the bucket in `r2_objects` and the other tables. */
    id: string;
    account_id: string;
    name: string;
    location: string | null;
    jurisdiction: string;
    storage_class: string;
    /** Epoch milliseconds. */
    created_at: number;
    state: BucketState;
    /** When it entered this state. */
    state_since: number;
  };
}

export const bucketMigration: Migration = {
  name: "workers-r2-002-buckets",
  async up(db, types) {
    const text = sql.raw(types.keyText);
    await db.schema
      .createTable("r2_buckets")
      .addColumn("id", text, (column) => column.primaryKey())
      .addColumn("account_id", text, (column) => column.notNull())
      .addColumn("name", text, (column) => column.notNull())
      .addColumn("location", "text")
      .addColumn("jurisdiction", "text", (column) => column.notNull())
      .addColumn("storage_class", "text", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("state", "text", (column) => column.notNull())
      .addColumn("state_since", "bigint", (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex("r2_buckets_name")
      .on("r2_buckets")
      .columns(["account_id", "name"])
      .unique()
      .where(sql.ref("state"), "!=", sql.lit("removed"))
      .execute();
    await db.schema
      .createIndex("r2_buckets_state")
      .on("r2_buckets")
      .columns(["state_since", "id"])
      .where(sql.ref("state"), "!=", sql.lit("live"))
      .execute();
  },
};

export interface BucketRow {
  id: string;
  account: string;
  name: string;
  location: string | null;
  jurisdiction: string;
  storageClass: string;
  /** Epoch milliseconds. */
  createdAt: number;
  state: BucketState;
  stateSince: number;
}

interface BucketPage {
  contains: string;
  /** The page starts after this name. */
  after: string | undefined;
  direction: "asc" | "desc";
  limit: number;
}

export function createBucketTable(db: Db) {
  const tables = db.tables<BucketTables & Pick<R2Tables, "r2_objects">>();
  const selectPresent = () => tables.selectFrom("r2_buckets").selectAll().where("state", "!=", sql.lit("removed"));
  const find = prepareQuery((arg) =>
    selectPresent().where("account_id", "=", arg<string>("account")).where("name", "=", arg<string>("name")),
  );
  const state = prepareQuery((arg) =>
    tables.selectFrom("r2_buckets").select("state").where("id", "=", arg<string>("id")),
  );

  return {
    /** Resolves with false if the name is in use. */
    async create({ account, createdAt, storageClass, stateSince, ...row }: BucketRow): Promise<boolean> {
      try {
        await db.write(
          tables.insertInto("r2_buckets").values({
            ...row,
            account_id: account,
            created_at: createdAt,
            storage_class: storageClass,
            state_since: stateSince,
          }),
        );
        return true;
      } catch (err) {
        if (isUniqueViolation(err)) return false;
        throw err;
      }
    },

    async find(account: string, name: string): Promise<BucketRow | undefined> {
      const { rows } = await tables.executeQuery(find({ account, name }).compile());
      return rows[0] && fromRow(rows[0]);
    },

    async stateOf(id: string): Promise<BucketState | undefined> {
      const { rows } = await tables.executeQuery(state({ id }).compile());
      return rows[0]?.state;
    },

    /** Ordered by name. */
    async page(account: string, { contains, after, direction, limit }: BucketPage): Promise<BucketRow[]> {
      let query = selectPresent().where("account_id", "=", account).orderBy("name", direction).limit(limit);
      if (after !== undefined) query = query.where("name", direction === "asc" ? ">" : "<", after);
      // Names contain no capital letters, so the case sensitivity of LIKE does not matter.
      if (contains !== "")
        query = query.where(sql<boolean>`name like ${`%${contains.replace(/[\\%_]/g, "\\$&")}%`} escape '\\'`);
      return (await query.execute()).map(fromRow);
    },

    async changeStorageClass(id: string, storageClass: string): Promise<void> {
      await db.write(tables.updateTable("r2_buckets").set({ storage_class: storageClass }).where("id", "=", id));
    },

    /** Resolves with false if the bucket was in a different state or entered this state at a different time. */
    async change(
      id: string,
      from: { state: BucketState; since?: number },
      to: { state: BucketState; since: number },
    ): Promise<boolean> {
      let query = tables
        .updateTable("r2_buckets")
        .set({ state: to.state, state_since: to.since })
        .where("id", "=", id)
        .where("state", "=", from.state);
      if (from.since !== undefined) query = query.where("state_since", "=", from.since);
      return (await db.write(query)).affected === 1;
    },

    async isEmpty(id: string): Promise<boolean> {
      return (
        (await tables
          .selectFrom("r2_objects")
          .select("bucket")
          .where("bucket", "=", id)
          .limit(1)
          .executeTakeFirst()) === undefined
      );
    },

    /** Buckets being removed or already removed, longest first, starting after `after`. */
    async leaving(
      after: { since: number; id: string } | undefined,
      limit: number,
    ): Promise<{ id: string; state: BucketState; since: number }[]> {
      let query = tables
        .selectFrom("r2_buckets")
        .select(["id", "state", "state_since"])
        .where("state", "!=", sql.lit("live"))
        .orderBy("state_since")
        .orderBy("id")
        .limit(limit);
      if (after)
        query = query.where(({ eb, refTuple, tuple }) =>
          eb(refTuple("state_since", "id"), ">", tuple(after.since, after.id)),
        );
      return (await query.execute()).map((row) => ({ id: row.id, state: row.state, since: row.state_since }));
    },

    async forget(id: string): Promise<void> {
      await db.write(tables.deleteFrom("r2_buckets").where("id", "=", id).where("state", "=", "removed"));
    },
  };
}

const fromRow = (row: BucketTables["r2_buckets"]): BucketRow => ({
  id: row.id,
  account: row.account_id,
  name: row.name,
  location: row.location,
  jurisdiction: row.jurisdiction,
  storageClass: row.storage_class,
  createdAt: row.created_at,
  state: row.state,
  stateSince: row.state_since,
});
