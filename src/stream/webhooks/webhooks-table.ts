import { sql, type Kysely } from "kysely";
import { offsetOf, type Page, type PageRequest } from "../../kernel/index.ts";
import type { Db, Migration } from "../../store/index.ts";
import type { WebhookAttempt, WebhookDelivery } from "./types.ts";

interface WebhookTables {
  stream_webhooks: EndpointRow;
  stream_webhook_deliveries: DeliveryRow;
}

export interface EndpointRow {
  id: string;
  account_id: string;
  main: 0 | 1;
  url: string;
  /** Encrypted. */
  secret: string;
  /** "videos", "live" or both, separated by a space. */
  topics: string;
  /** JSON list of uids. */
  live_inputs: string;
  created_at: number;
  modified_at: number;
}

interface DeliveryRow {
  id: string;
  account_id: string;
  endpoint_id: string;
  /** Deduplication key: the end of one video's processing, or a unique id. */
  occasion: string;
  video: string;
  event: WebhookDelivery["event"];
  status: WebhookDelivery["status"];
  /** JSON. */
  attempts: string;
  created_at: number;
  payload: string;
}

export const webhooksMigrations: Migration[] = [
  {
    name: "stream-webhooks-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_webhooks")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("main", "integer", (column) => column.notNull())
        .addColumn("url", "text", (column) => column.notNull())
        .addColumn("secret", "text", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .execute();
      await sql`create unique index stream_webhooks_main on stream_webhooks (account_id) where main = 1`.execute(db);
      await db.schema
        .createIndex("stream_webhooks_account")
        .on("stream_webhooks")
        .columns(["account_id", "main", "created_at", "id"])
        .execute();
      await db.schema
        .createTable("stream_webhook_deliveries")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("endpoint_id", key, (column) => column.notNull())
        .addColumn("occasion", key, (column) => column.notNull())
        .addColumn("video", key, (column) => column.notNull())
        .addColumn("event", key, (column) => column.notNull())
        .addColumn("status", key, (column) => column.notNull())
        .addColumn("attempts", "text", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("payload", "text", (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex("stream_webhook_deliveries_occasion")
        .on("stream_webhook_deliveries")
        .columns(["endpoint_id", "occasion"])
        .unique()
        .execute();
      await db.schema
        .createIndex("stream_webhook_deliveries_created")
        .on("stream_webhook_deliveries")
        .columns(["endpoint_id", "created_at", "id"])
        .execute();
      await sql`create index stream_webhook_deliveries_waiting on stream_webhook_deliveries (created_at, id) where status = 'waiting'`.execute(
        db,
      );
    },
  },
  {
    name: "stream-webhooks-002",
    async up(db) {
      await db.schema
        .alterTable("stream_webhooks")
        .addColumn("topics", "text", (column) => column.notNull().defaultTo("videos"))
        .execute();
      await db.schema
        .alterTable("stream_webhooks")
        .addColumn("live_inputs", "text", (column) => column.notNull().defaultTo("[]"))
        .execute();
    },
  },
];

type Executor = Kysely<WebhookTables>;

const toDelivery = (row: DeliveryRow): WebhookDelivery => ({
  id: row.id,
  endpoint: row.endpoint_id,
  video: row.video,
  event: row.event,
  status: row.status,
  attempts: JSON.parse(row.attempts) as WebhookAttempt[],
  created: row.created_at,
  payload: row.payload,
});

/** Maximum number of completed and waiting deliveries: above it, the oldest are deleted. */
const MAX_DELIVERIES = { over: 100, waiting: 10_000 };

export function createWebhooksTable(db: Db) {
  const tables = db.tables<WebhookTables>();
  const endpoints = tables.selectFrom("stream_webhooks").selectAll();
  const deliveries = tables.selectFrom("stream_webhook_deliveries").selectAll();

  /** Returns the deliveries of one kind beyond the newest ones to keep. */
  function excessDeliveries(tx: Executor, endpoint: string, kind: "over" | "waiting") {
    return tx
      .selectFrom("stream_webhook_deliveries")
      .select("id")
      .where("endpoint_id", "=", endpoint)
      .where("status", kind === "over" ? "!=" : "=", "waiting")
      .orderBy("created_at", "desc")
      .orderBy("id", "desc")
      .limit(1000)
      .offset(MAX_DELIVERIES[kind]);
  }

  return {
    endpoints: (account: string): Promise<EndpointRow[]> =>
      endpoints.where("account_id", "=", account).orderBy("main", "desc").orderBy("created_at").orderBy("id").execute(),
    main: (account: string): Promise<EndpointRow | undefined> =>
      endpoints.where("account_id", "=", account).where("main", "=", 1).executeTakeFirst(),
    endpoint: (id: string): Promise<EndpointRow | undefined> => endpoints.where("id", "=", id).executeTakeFirst(),

    /** The main endpoint keeps its id and secret. */
    async putMain(row: EndpointRow): Promise<EndpointRow> {
      const { rows } = await db.write(
        tables
          .insertInto("stream_webhooks")
          .values(row)
          .onConflict((conflict) =>
            conflict
              .column("account_id")
              .where("main", "=", sql.lit(1 as const))
              .doUpdateSet({ url: row.url, modified_at: row.modified_at }),
          )
          .returningAll(),
      );
      return rows[0]!;
    },

    /** False if there are already `maxEndpoints` endpoints. */
    insert: (row: EndpointRow, maxEndpoints: number): Promise<boolean> =>
      db.transaction<WebhookTables, boolean>(async (tx) => {
        const existingEndpoint = await tx
          .selectFrom("stream_webhooks")
          .select("id")
          .where("account_id", "=", row.account_id)
          .where("main", "=", 0)
          .limit(maxEndpoints)
          .execute();
        if (existingEndpoint.length >= maxEndpoints) return false;
        await tx.insertInto("stream_webhooks").values(row).execute();
        return true;
      }),

    /** Also deletes the endpoint's deliveries. */
    delete: (id: string): Promise<boolean> =>
      db.transaction<WebhookTables, boolean>(async (tx) => {
        const deletedEndpoint = await tx.deleteFrom("stream_webhooks").where("id", "=", id).returning("id").execute();
        await tx.deleteFrom("stream_webhook_deliveries").where("endpoint_id", "=", id).execute();
        return deletedEndpoint.length > 0;
      }),

    /**
     * Inserts each occasion once: returns the existing delivery if there is one. Undefined if the endpoint was deleted.
     */
    insertDelivery: (row: Omit<DeliveryRow, "account_id">): Promise<WebhookDelivery | undefined> =>
      db.transaction<WebhookTables, WebhookDelivery | undefined>(async (tx) => {
        const endpoint = await tx
          .selectFrom("stream_webhooks")
          .select("account_id")
          .where("id", "=", row.endpoint_id)
          .executeTakeFirst();
        if (endpoint === undefined) return undefined;
        await tx
          .insertInto("stream_webhook_deliveries")
          .values({ ...row, ...endpoint })
          .onConflict((conflict) => conflict.columns(["endpoint_id", "occasion"]).doNothing())
          .execute();
        for (const kind of ["over", "waiting"] as const) {
          const old = await excessDeliveries(tx, row.endpoint_id, kind).execute();
          if (old.length > 0)
            await tx
              .deleteFrom("stream_webhook_deliveries")
              .where(
                "id",
                "in",
                old.map(({ id }) => id),
              )
              .execute();
        }
        const storedDelivery = await tx
          .selectFrom("stream_webhook_deliveries")
          .selectAll()
          .where("endpoint_id", "=", row.endpoint_id)
          .where("occasion", "=", row.occasion)
          .executeTakeFirst();
        return storedDelivery && toDelivery(storedDelivery);
      }),

    async delivery(id: string): Promise<WebhookDelivery | undefined> {
      const row = await deliveries.where("id", "=", id).executeTakeFirst();
      return row && toDelivery(row);
    },

    /**
     * Resolves with deliveries that have been waiting since before this time, oldest first; `untried`: only those never
     * attempted.
     */
    async waiting(before: number, { untried, limit }: { untried: boolean; limit: number }): Promise<WebhookDelivery[]> {
      const query = deliveries
        .where("status", "=", sql.lit("waiting" as const))
        .where("created_at", "<=", before)
        .orderBy("created_at")
        .orderBy("id")
        .limit(limit);
      return (await (untried ? query.where("attempts", "=", "[]") : query).execute()).map(toDelivery);
    },

    /** Resolves with the number of waiting deliveries of an endpoint, counted up to `limit`. */
    async countWaiting(endpoint: string, limit: number): Promise<number> {
      const waiting = tables
        .selectFrom("stream_webhook_deliveries")
        .select("id")
        .where("endpoint_id", "=", endpoint)
        .where("status", "=", "waiting")
        .limit(limit)
        .as("waiting");
      const [row] = await db.read(tables.selectFrom(waiting).select((eb) => eb.fn.countAll<number>().as("count")));
      return Number(row?.count ?? 0);
    },

    async recordAttempts({ id, status, attempts }: Pick<WebhookDelivery, "id" | "status" | "attempts">): Promise<void> {
      await db.write(
        tables
          .updateTable("stream_webhook_deliveries")
          .set({ status, attempts: JSON.stringify(attempts) })
          .where("id", "=", id),
      );
    },

    async deliveries(endpoint: string, page: PageRequest): Promise<Page<WebhookDelivery>> {
      const { total } = await tables
        .selectFrom("stream_webhook_deliveries")
        .select(({ fn }) => fn.countAll<number>().as("total"))
        .where("endpoint_id", "=", endpoint)
        .executeTakeFirstOrThrow();
      const rows = await deliveries
        .where("endpoint_id", "=", endpoint)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(page.perPage)
        .offset(offsetOf(page))
        .execute();
      return { items: rows.map(toDelivery), total: Number(total) };
    },
  };
}
