import { sql } from "kysely";
import { prepareQuery, type Db, type Migration } from "../../store/index.ts";
import type { Entry } from "./types.ts";

/**
 * Times in epoch milliseconds, flags as 0 and 1, `details` as JSON: deliveries, events, the SMTP reply (`answer`), and
 * everything else that is read only with the whole entry.
 */
export interface EntryRow {
  id: string;
  kind: Entry["kind"];
  message: string;
  account_id: string;
  zone_id: string;
  at: number;
  changed_at: number;
  mail_from: string;
  /** Key for searches by sender. */
  from_key: string;
  rcpt: string;
  rcpt_key: string;
  /** Domain of the sender. */
  domain: string;
  subject: string | null;
  header_id: string | null;
  status: Entry["status"];
  action: Entry["action"];
  origin: Entry["origin"];
  rule: string | null;
  script: string | null;
  spf: string | null;
  dkim: string | null;
  dmarc: string | null;
  arc: string | null;
  error_cause: string | null;
  error: string | null;
  is_ndr: number;
  is_spam: number;
  spam_score: number | null;
  spam_threshold: number | null;
  size: number | null;
  ip: string | null;
  /** Incremented by every change, for optimistic locking. */
  version: number;
  details: string;
}

export interface EntryTables {
  email_log: EntryRow;
}

export const activityMigrations: Migration[] = [
  {
    name: "mail-activity-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("email_log")
        .addColumn("id", key, (column) => column.primaryKey())
        .addColumn("kind", key, (column) => column.notNull())
        .addColumn("message", key, (column) => column.notNull())
        .addColumn("account_id", key, (column) => column.notNull())
        .addColumn("zone_id", key, (column) => column.notNull())
        .addColumn("at", "bigint", (column) => column.notNull())
        .addColumn("changed_at", "bigint", (column) => column.notNull())
        .addColumn("mail_from", "text", (column) => column.notNull())
        .addColumn("from_key", key, (column) => column.notNull())
        .addColumn("rcpt", "text", (column) => column.notNull())
        .addColumn("rcpt_key", key, (column) => column.notNull())
        .addColumn("domain", key, (column) => column.notNull())
        .addColumn("subject", "text")
        .addColumn("header_id", "text")
        .addColumn("status", key, (column) => column.notNull())
        .addColumn("action", key)
        .addColumn("origin", key, (column) => column.notNull())
        .addColumn("rule", key)
        .addColumn("script", key)
        .addColumn("spf", key)
        .addColumn("dkim", key)
        .addColumn("dmarc", key)
        .addColumn("arc", key)
        .addColumn("error_cause", key)
        .addColumn("error", "text")
        .addColumn("is_ndr", "integer", (column) => column.notNull())
        .addColumn("is_spam", "integer", (column) => column.notNull())
        .addColumn("spam_score", "double precision")
        .addColumn("spam_threshold", "double precision")
        .addColumn("size", "bigint")
        .addColumn("ip", "text")
        .addColumn("version", "integer", (column) => column.notNull())
        // The last column, because counts and filters rarely read it.
        .addColumn("details", "text", (column) => column.notNull())
        .execute();
      await db.schema.createIndex("email_log_at").on("email_log").columns(["at", "id"]).execute();
      await db.schema.createIndex("email_log_account").on("email_log").columns(["account_id", "at", "id"]).execute();
      await db.schema.createIndex("email_log_zone").on("email_log").columns(["zone_id", "kind", "at", "id"]).execute();
      await db.schema
        .createIndex("email_log_from")
        .on("email_log")
        .columns(["account_id", "from_key", "at", "id"])
        .execute();
      await db.schema
        .createIndex("email_log_rcpt")
        .on("email_log")
        .columns(["account_id", "rcpt_key", "at", "id"])
        .execute();
    },
  },
  {
    name: "mail-activity-002-unfinished",
    async up(db) {
      // A small partial index: only messages in progress.
      await sql`create index email_log_unfinished on email_log (changed_at) where status = 'received'`.execute(db);
    },
  },
];

/** Columns changed by most updates; none of them is indexed. */
const NARROW = [
  "changed_at",
  "subject",
  "header_id",
  "status",
  "action",
  "origin",
  "rule",
  "script",
  "spf",
  "dkim",
  "dmarc",
  "arc",
  "error_cause",
  "error",
  "is_ndr",
  "is_spam",
  "spam_score",
  "spam_threshold",
  "size",
  "ip",
  "version",
  "details",
] as const;
const WIDE = [...NARROW, "account_id", "zone_id", "at", "mail_from", "from_key", "domain"] as const;
const COLUMNS = [...WIDE, "id", "kind", "message", "rcpt", "rcpt_key"] as const satisfies (keyof EntryRow)[];

/**
 * Rows per INSERT: each statement uses the largest of these sizes that does not exceed the number of remaining rows.
 */
const BATCHES = [32, 8, 1];
/** Prefixes per statement. */
const PREFIXES = 100;

export type EntriesTable = ReturnType<typeof createEntriesTable>;

/** Creates the entries table as used by the writer. */
export function createEntriesTable(db: Db) {
  const tables = db.tables<EntryTables>();
  const insertQueries = BATCHES.map((size) => ({
    size,
    query: prepareQuery<{ id: string }>((arg) =>
      tables
        .insertInto("email_log")
        .values(
          Array.from(
            { length: size },
            (_, i) => Object.fromEntries(COLUMNS.map((name) => [name, arg(`${name}${i}`)])) as unknown as EntryRow,
          ),
        )
        .onConflict((conflict) => conflict.column("id").doNothing())
        .returning("id"),
    ),
  }));
  const prepareUpdate = (columns: readonly (keyof EntryRow)[]) =>
    prepareQuery<{ id: string }>((arg) =>
      tables
        .updateTable("email_log")
        .set(Object.fromEntries(columns.map((name) => [name, arg(name)])) as Partial<EntryRow>)
        .where("id", "=", arg<string>("id"))
        .where("version", "=", arg<number>("seen"))
        .returning("id"),
    );
  const [narrow, wide] = [prepareUpdate(NARROW), prepareUpdate(WIDE)];

  return {
    /** Resolves with the entries that have these ids, or ids with these prefixes. */
    async find({ ids, prefixes }: { ids: string[]; prefixes: string[] }): Promise<EntryRow[]> {
      const rows =
        ids.length === 0 ? [] : await db.read(tables.selectFrom("email_log").selectAll().where("id", "in", ids));
      for (let at = 0; at < prefixes.length; at += PREFIXES) {
        const prefixBatch = prefixes.slice(at, at + PREFIXES);
        rows.push(
          ...(await db.read(
            tables
              .selectFrom("email_log")
              .selectAll()
              .where((eb) =>
                eb.or(prefixBatch.map((prefix) => eb.and([eb("id", ">=", prefix), eb("id", "<", `${prefix}g`)]))),
              ),
          )),
        );
      }
      return rows;
    },

    /** Resolves with the ids that already existed; those rows are left unchanged. */
    async insert(rows: EntryRow[]): Promise<string[]> {
      const writes: Promise<{ rows: { id: string }[] }>[] = [];
      for (let at = 0; at < rows.length;) {
        const { size, query } = insertQueries.find((candidate) => candidate.size <= rows.length - at)!;
        const values: Record<string, unknown> = {};
        for (let i = 0; i < size; i++) for (const name of COLUMNS) values[`${name}${i}`] = rows[at + i]![name];
        writes.push(db.write(query(values)));
        at += size;
      }
      const writtenIds = new Set((await Promise.all(writes)).flatMap((result) => result.rows.map(({ id }) => id)));
      return rows.filter(({ id }) => !writtenIds.has(id)).map(({ id }) => id);
    },

    /**
     * Writes changes based on the previous version. Resolves with the ids of rows that have changed since; those rows
     * are left unchanged.
     */
    async update(changes: { row: EntryRow; wide: boolean }[]): Promise<string[]> {
      const results = await Promise.all(
        changes.map(({ row, wide: isWide }) => db.write((isWide ? wide : narrow)({ ...row, seen: row.version - 1 }))),
      );
      return changes.filter((_, i) => results[i]!.affected === 0).map(({ row }) => row.id);
    },

    /** Resolves with inbound messages without a final status, last updated before `changedBefore`; oldest first. */
    async unfinished(
      changedBefore: number,
      limit: number,
    ): Promise<Pick<EntryRow, "message" | "rcpt" | "account_id" | "zone_id">[]> {
      return db.read(
        tables
          .selectFrom("email_log")
          .select(["message", "rcpt", "account_id", "zone_id"])
          .where(sql<boolean>`status = 'received'`)
          .where("kind", "=", "routing")
          .where("changed_at", "<", changedBefore)
          .orderBy("changed_at")
          .limit(limit),
      );
    },

    /** Deletes up to `limit` entries that began before `at`; returns how many. */
    async deleteBefore(at: number, limit: number): Promise<number> {
      const old = tables
        .selectFrom("email_log")
        .select("id")
        .where("at", "<", at)
        .orderBy("at")
        .orderBy("id")
        .limit(limit);
      return (await db.write(tables.deleteFrom("email_log").where("id", "in", old))).affected;
    },
  };
}

export function rowOf(entry: Entry, version: number): EntryRow {
  const { deliveries, events, answer, checks, transcript, workerLogs } = entry;
  return {
    id: entry.id,
    kind: entry.kind,
    message: entry.message,
    account_id: entry.account,
    zone_id: entry.zone,
    at: entry.at,
    changed_at: entry.changedAt,
    mail_from: entry.from,
    from_key: searchKey(entry.from),
    rcpt: entry.to,
    rcpt_key: searchKey(entry.to),
    domain: searchKey(entry.from.slice(entry.from.lastIndexOf("@") + 1)),
    subject: entry.subject,
    header_id: entry.headerId,
    status: entry.status,
    action: entry.action,
    origin: entry.origin,
    rule: entry.rule,
    script: entry.script,
    spf: entry.spf,
    dkim: entry.dkim,
    dmarc: entry.dmarc,
    arc: entry.arc,
    error_cause: entry.errorCause,
    error: entry.error,
    is_ndr: Number(entry.isNdr),
    is_spam: Number(entry.isSpam),
    spam_score: entry.spamScore,
    spam_threshold: entry.spamThreshold,
    size: entry.size,
    ip: entry.ip,
    version,
    details: JSON.stringify({ deliveries, events, answer, checks, transcript, workerLogs }),
  };
}

export const entryOf = (row: EntryRow): Entry => ({
  id: row.id,
  kind: row.kind,
  message: row.message,
  account: row.account_id,
  zone: row.zone_id,
  at: row.at,
  changedAt: row.changed_at,
  from: row.mail_from,
  to: row.rcpt,
  subject: row.subject,
  headerId: row.header_id,
  status: row.status,
  action: row.action,
  origin: row.origin,
  rule: row.rule,
  script: row.script,
  spf: row.spf,
  dkim: row.dkim,
  dmarc: row.dmarc,
  arc: row.arc,
  errorCause: row.error_cause,
  error: row.error,
  isNdr: row.is_ndr === 1,
  isSpam: row.is_spam === 1,
  spamScore: row.spam_score,
  spamThreshold: row.spam_threshold,
  size: row.size,
  ip: row.ip,
  ...(JSON.parse(row.details) as Pick<
    Entry,
    "deliveries" | "events" | "answer" | "checks" | "transcript" | "workerLogs"
  >),
});

/** Normalizes an address for searches. */
export const searchKey = (address: string): string => address.toLowerCase().slice(0, 512);
