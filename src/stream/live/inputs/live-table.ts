import { sql } from "kysely";
import { countRows, type Migration } from "../../../store/index.ts";
import type { LiveState } from "./port.ts";
import type { LiveEvent } from "./types.ts";

export interface LiveInputTables {
  stream_live_inputs: InputRow;
  stream_live_idempotency: { account_id: string; key_hash: string; input_uid: string; created_at: number };
  stream_live_history: HistoryRow;
  stream_live_outputs: OutputRow;
  /** `health`: JSON of LiveHealth. */
  stream_live_health: { input_uid: string; at: number; health: string };
  /** `sample`: JSON of LiveSample, without its time. */
  stream_live_samples: { input_uid: string; at: number; sample: string };
}

export interface InputRow {
  uid: string;
  account_id: string;
  /** JSON of LiveSettings. */
  settings: string;
  publish_hash: string;
  playback_hash: string;
  /** JSON of LiveKeys, encrypted. */
  keys: string;
  created_at: number;
  modified_at: number;
  rotated_at: number | null;
  status: LiveState | null;
  status_at: number | null;
  /** Number of the last history entry. */
  noted: number;
}

export interface HistoryRow {
  input_uid: string;
  n: number;
  at: number;
  state: LiveState | null;
  /** JSON. */
  error: string | null;
  protocol: string | null;
  session: string | null;
  reason: string | null;
  /** Key of an entry that is recorded only once. */
  once: string | null;
  /** Event type sent to the owner's webhooks. */
  event: LiveEvent["type"] | null;
  /** 0: not yet sent. */
  told: 0 | 1;
}

export interface OutputRow {
  uid: string;
  input_uid: string;
  /** JSON of URL and key, encrypted: SRT URLs contain passphrases. */
  target: string;
  enabled: 0 | 1;
  created_at: number;
  /** JSON of LiveOutputStatus. */
  status: string | null;
}

export const INPUT_COUNTS = { name: "stream_live_inputs", table: "stream_live_inputs", by: "account_id" } as const;

export const liveInputsMigrations: Migration[] = [
  {
    name: "live-inputs-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("stream_live_inputs")
        .addColumn("uid", key, (column) => column.primaryKey())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("settings", "text", (column) => column.notNull())
        .addColumn("publish_hash", key, (column) => column.notNull())
        .addColumn("playback_hash", key, (column) => column.notNull())
        .addColumn("keys", "text", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("modified_at", "bigint", (column) => column.notNull())
        .addColumn("rotated_at", "bigint")
        .addColumn("status", key)
        .addColumn("status_at", "bigint")
        .addColumn("noted", "bigint", (column) => column.notNull())
        .execute();
      await db.schema
        .createIndex("stream_live_inputs_account")
        .on("stream_live_inputs")
        .columns(["account_id", "created_at", "uid"])
        .execute();
      for (const column of ["publish_hash", "playback_hash"])
        await db.schema
          .createIndex(`stream_live_inputs_${column}`)
          .on("stream_live_inputs")
          .column(column)
          .unique()
          .execute();

      await db.schema
        .createTable("stream_live_idempotency")
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("key_hash", key, (column) => column.notNull())
        .addColumn("input_uid", key, (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_live_idempotency_key", ["account_id", "key_hash"])
        .execute();
      await db.schema
        .createIndex("stream_live_idempotency_created")
        .on("stream_live_idempotency")
        .column("created_at")
        .execute();

      await db.schema
        .createTable("stream_live_history")
        .addColumn("input_uid", key, (column) => column.notNull())
        .addColumn("n", "bigint", (column) => column.notNull())
        .addColumn("at", "bigint", (column) => column.notNull())
        .addColumn("state", key)
        .addColumn("error", "text")
        .addColumn("protocol", "text")
        .addColumn("session", "text")
        .addColumn("reason", "text")
        .addColumn("once", key)
        .addColumn("event", key)
        .addColumn("told", "integer", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_live_history_key", ["input_uid", "n"])
        .execute();
      await sql`create unique index stream_live_history_once on stream_live_history (input_uid, once) where once is not null`.execute(
        db,
      );
      await sql`create index stream_live_history_untold on stream_live_history (at) where told = 0`.execute(db);

      await db.schema
        .createTable("stream_live_outputs")
        .addColumn("uid", key, (column) => column.primaryKey())
        .addColumn("input_uid", key, (column) => column.notNull())
        .addColumn("target", "text", (column) => column.notNull())
        .addColumn("enabled", "integer", (column) => column.notNull())
        .addColumn("created_at", "bigint", (column) => column.notNull())
        .addColumn("status", "text")
        .execute();
      await db.schema
        .createIndex("stream_live_outputs_input")
        .on("stream_live_outputs")
        .columns(["input_uid", "created_at", "uid"])
        .execute();
    },
  },
  {
    name: "live-inputs-002",
    async up(db, types) {
      await db.schema
        .createTable("stream_live_health")
        .addColumn("input_uid", sql.raw(types.keyText), (column) => column.primaryKey())
        .addColumn("at", "bigint", (column) => column.notNull())
        .addColumn("health", "text", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("stream_live_health_at").on("stream_live_health").column("at").execute();
    },
  },
  {
    name: "live-inputs-003-samples",
    async up(db, types) {
      await db.schema
        .createTable("stream_live_samples")
        .addColumn("input_uid", sql.raw(types.keyText), (column) => column.notNull())
        .addColumn("at", "bigint", (column) => column.notNull())
        .addColumn("sample", "text", (column) => column.notNull())
        .addPrimaryKeyConstraint("stream_live_samples_pk", ["input_uid", "at"])
        .execute();
      await db.schema.createIndex("stream_live_samples_at").on("stream_live_samples").column("at").execute();
    },
  },
  { name: "live-inputs-004-counts", up: (db, types) => countRows(db, types, INPUT_COUNTS) },
];
