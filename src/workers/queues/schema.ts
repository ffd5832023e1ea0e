import { sql } from "kysely";
import type { Migration } from "../../store/index.ts";

/** Times are epoch milliseconds. */
export interface QueueTables {
  queues: QueueRow;
  queue_consumers: ConsumerRow;
  queue_messages: QueueMessageRow;
}

export interface QueueRow {
  /** 32 hex digits. */
  id: string;
  /** Empty in `reelpost dev`, which has no accounts. */
  account_id: string;
  name: string;
  created_at: number;
  modified_at: number;
  /** In seconds. */
  delivery_delay: number;
  /** 0 or 1. */
  delivery_paused: number;
  /** In seconds. */
  retention: number;
  jurisdiction: string | null;
  purged_at: number | null;
}

export interface ConsumerRow {
  /** 32 hex digits. */
  id: string;
  /** Unique: a queue has at most one consumer. */
  queue_id: string;
  account_id: string;
  type: "worker" | "http_pull";
  script: string | null;
  dead_letter_queue: string | null;
  batch_size: number;
  max_wait_ms: number;
  max_retries: number;
  max_concurrency: number | null;
  /** In seconds. Null means no delay. */
  retry_delay: number | null;
  visibility_ms: number;
  created_at: number;
  /** Fencing token of the process that holds the delivery lease; null if no process does. */
  owner: string | null;
  owner_until: number;
}

export interface QueueMessageRow {
  /** 32 hex digits that sort by time. */
  id: string;
  queue_id: string;
  content_type: string;
  /** Size of the body in bytes. */
  size: number;
  sent_at: number;
  /** When the message may be delivered, or when the lease of its current delivery expires. */
  due_at: number;
  expires_at: number;
  /** Number of deliveries so far. */
  attempts: number;
  /** Fencing token of the current delivery; null if the message is not leased. */
  token: string | null;
  // Last column, so that SQLite can read the others without the overflow pages of a long body.
  body: Uint8Array;
}

export const queueMigrations: readonly Migration[] = [
  {
    name: "workers-queues-001",
    async up(db, types) {
      const text = sql.raw(types.keyText);
      await db.schema
        .createTable("queues")
        .addColumn("id", text, (column) => column.primaryKey())
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("name", text, (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addColumn("delivery_delay", "integer", (column) => column.notNull())
        .addColumn("delivery_paused", "integer", (column) => column.notNull())
        .addColumn("retention", "integer", (column) => column.notNull())
        .addColumn("jurisdiction", "text")
        .addColumn("purged_at", "bigint")
        .addUniqueConstraint("queues_name", ["account_id", "name"])
        .execute();
      await db.schema
        .createTable("queue_consumers")
        .addColumn("id", text, (column) => column.primaryKey())
        .addColumn("queue_id", text, (column) => column.notNull().unique())
        .addColumn("account_id", text, (column) => column.notNull())
        .addColumn("type", "text", (column) => column.notNull())
        .addColumn("script", text)
        .addColumn("dead_letter_queue", text)
        .addColumn("batch_size", "integer", (column) => column.notNull())
        .addColumn("max_wait_ms", "integer", (column) => column.notNull())
        .addColumn("max_retries", "integer", (column) => column.notNull())
        .addColumn("max_concurrency", "integer")
        .addColumn("retry_delay", "integer")
        .addColumn("visibility_ms", "integer", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("owner", text)
        .addColumn("owner_until", "bigint", (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex("queue_consumers_script")
        .on("queue_consumers")
        .columns(["account_id", "script"])
        .execute();
      await db.schema
        .createTable("queue_messages")
        .addColumn("id", text, (column) => column.primaryKey())
        .addColumn("queue_id", text, (column) => column.notNull())
        .addColumn("content_type", "text", (column) => column.notNull())
        .addColumn("size", "integer", (column) => column.notNull())
        .addColumn("sent_at", "bigint", (column) => column.notNull())
        .addColumn("due_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .addColumn("attempts", "integer", (column) => column.notNull())
        .addColumn("token", text)
        .addColumn("body", sql.raw(types.bytes), (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex("queue_messages_due")
        .on("queue_messages")
        .columns(["queue_id", "due_at", "id"])
        .execute();
      await db.schema.createIndex("queue_messages_expires").on("queue_messages").column("expires_at").execute();
    },
  },
];
