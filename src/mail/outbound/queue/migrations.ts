import { sql } from "kysely";
import type { Migration } from "../../../store/index.ts";

const queueMigration: Migration = {
  name: "mail-outbound-001",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema
      .createTable("outbound_messages")
      .addColumn("id", key, (column) => column.primaryKey())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("zone_id", "text")
      .addColumn("cause", "text", (column) => column.notNull())
      .addColumn("script", "text")
      .addColumn("inbound_id", "text")
      .addColumn("inbound_rcpt", "text")
      .addColumn("header_id", "text", (column) => column.notNull())
      .addColumn("mail_from", "text", (column) => column.notNull())
      .addColumn("vouched", "integer", (column) => column.notNull())
      .addColumn("size", "bigint", (column) => column.notNull())
      .addColumn("eight_bit", "integer", (column) => column.notNull())
      .addColumn("utf8_header", "integer", (column) => column.notNull())
      .addColumn("dsn", "text")
      .addColumn("body_in", "text")
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("finished_at", "bigint")
      .addColumn("body_until", "bigint")
      .execute();
    await sql`create index outbound_body_until on outbound_messages (body_until) where body_until is not null`.execute(
      db,
    );
    await sql`create index outbound_finished on outbound_messages (finished_at) where finished_at is not null`.execute(
      db,
    );
    await sql`create index outbound_unfinished on outbound_messages (created_at, id) where finished_at is null`.execute(
      db,
    );

    await db.schema
      .createTable("outbound_bodies")
      .addColumn("message_id", key, (column) => column.primaryKey())
      .addColumn("body", sql.raw(types.bytes), (column) => column.notNull())
      .execute();

    await db.schema
      .createTable("outbound_recipients")
      .addColumn("id", key, (column) => column.primaryKey())
      .addColumn("message_id", key, (column) => column.notNull())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("rcpt", "text", (column) => column.notNull())
      .addColumn("domain", key, (column) => column.notNull())
      .addColumn("destination", key, (column) => column.notNull())
      .addColumn("siblings", "integer", (column) => column.notNull())
      .addColumn("notify", "text")
      .addColumn("orcpt", "text")
      .addColumn("state", key, (column) => column.notNull())
      .addColumn("attempts", "integer", (column) => column.notNull())
      .addColumn("next_try", "bigint")
      .addColumn("token", "text")
      .addColumn("lease_until", "bigint")
      .addColumn("reply_code", "integer")
      .addColumn("reply_enhanced", "text")
      .addColumn("reply_text", "text")
      .addColumn("host", "text")
      .addColumn("tell_at", "bigint")
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("expires_at", "bigint", (column) => column.notNull())
      .addColumn("finished_at", "bigint")
      .execute();
    // A queued recipient has next_try, one being delivered has lease_until, and a finished one has neither.
    await sql`create index outbound_due on outbound_recipients (destination, next_try, message_id, id) where next_try is not null`.execute(
      db,
    );
    await sql`create index outbound_expiring on outbound_recipients (expires_at) where next_try is not null`.execute(
      db,
    );
    await sql`create index outbound_leased on outbound_recipients (lease_until) where lease_until is not null`.execute(
      db,
    );
    await sql`create index outbound_untold on outbound_recipients (tell_at) where tell_at is not null`.execute(db);
    await sql`create index outbound_of_message on outbound_recipients (message_id, id)`.execute(db);
    await sql`create index outbound_of_account on outbound_recipients (account_id, created_at, id)`.execute(db);
    await sql`create index outbound_by_state on outbound_recipients (account_id, state, created_at, id)`.execute(db);
  },
};

const ownSendersMigration: Migration = {
  name: "mail-outbound-002-senders",
  async up(db) {
    await db.schema.alterTable("outbound_recipients").addColumn("mail_from", "text").execute();
  },
};

const lookupsMigration: Migration = {
  name: "mail-outbound-003-lookups",
  async up(db) {
    await sql`create index outbound_of_inbound on outbound_messages (inbound_id) where inbound_id is not null`.execute(
      db,
    );
    await sql`create index outbound_of_domain on outbound_recipients (account_id, domain, created_at, id)`.execute(db);
  },
};

export const outboundQueueMigrations: Migration[] = [queueMigration, ownSendersMigration, lookupsMigration];

export interface MessageRow {
  id: string;
  /** "" for system mail. */
  account_id: string;
  zone_id: string | null;
  cause: "forward" | "reply" | "send";
  script: string | null;
  inbound_id: string | null;
  inbound_rcpt: string | null;
  /** Message-ID, with angle brackets. */
  header_id: string;
  mail_from: string;
  /** 1 means that the sender is authenticated. */
  vouched: number;
  size: number;
  eight_bit: number;
  utf8_header: number;
  /** JSON: ret and envid. */
  dsn: string | null;
  /** Where the body is stored; null means deleted. */
  body_in: BodyLocation | null;
  created_at: number;
  /** When the last recipient was done. */
  finished_at: number | null;
  /** When the body can be deleted. */
  body_until: number | null;
}

/**
 * Small bodies are rows, written in the transaction of the message: no file has to be created, and many share one
 * fsync.
 */
export type BodyLocation = "table" | "objects";

/** Stored separately from the messages, so that updating or listing them never touches the pages of a body. */
export interface BodyRow {
  message_id: string;
  body: Uint8Array;
}

export type RecipientState = "queued" | "delivering" | "deferred" | "delivered" | "failed" | "expired";

export interface RecipientRow {
  id: string;
  message_id: string;
  account_id: string;
  rcpt: string;
  /** Envelope sender for this recipient; null means the message's own. */
  mail_from: string | null;
  domain: string;
  /** The unit that shares limits and connections: a domain or the smart host. */
  destination: string;
  /** Number of other recipients of the message with the same destination. */
  siblings: number;
  /** Comma-separated. */
  notify: string | null;
  orcpt: string | null;
  state: RecipientState;
  attempts: number;
  next_try: number | null;
  /** The fencing token of the current claim: a process that does not have it has lost the recipient. */
  token: string | null;
  lease_until: number | null;
  reply_code: number | null;
  reply_enhanced: string | null;
  reply_text: string | null;
  host: string | null;
  /** When an unreported failure is due for reporting again. */
  tell_at: number | null;
  created_at: number;
  expires_at: number;
  finished_at: number | null;
}

export interface OutboundTables {
  outbound_messages: MessageRow;
  outbound_bodies: BodyRow;
  outbound_recipients: RecipientRow;
}
