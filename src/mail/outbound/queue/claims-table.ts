import { sql, type Compilable } from "kysely";
import type { GroupCommitter, Db } from "../../../store/index.ts";
import type { MessageRow, OutboundTables, RecipientRow } from "./migrations.ts";

/** Queries of the runner. All coordination happens in these statements, so any number of processes may run them. */
export type ClaimsTable = ReturnType<typeof createClaimsTable>;

interface Lease {
  token: string;
  now: number;
  until: number;
}

/** Maximum number of rows per statement. */
const BATCH_SIZE = 500;

export function createClaimsTable(db: Db, { write }: GroupCommitter) {
  const tables = db.tables<OutboundTables>();
  const ids = tables.selectFrom("outbound_recipients").select("id");
  const messageRecipients = tables
    .selectFrom("outbound_recipients")
    .select("outbound_recipients.id")
    .where("message_id", "=", sql.ref<string>("outbound_messages.id"));

  async function claim(wantedIds: typeof ids, { token, until }: Lease): Promise<RecipientRow[]> {
    const { rows } = await write(
      tables
        // Materialized, because PostgreSQL may otherwise run the subquery again for each row and exceed its limit.
        .with(
          (cte) => cte("picked").materialized(),
          () => (db.dialect === "postgres" ? wantedIds.forUpdate().skipLocked() : wantedIds),
        )
        .updateTable("outbound_recipients")
        .set((eb) => ({
          state: "delivering" as const,
          token,
          lease_until: until,
          next_try: null,
          attempts: eb("attempts", "+", 1),
        }))
        .where("id", "in", (eb) => eb.selectFrom("picked").select("id"))
        .returningAll(),
    );
    return rows;
  }

  const dueIds = (destination: string, now: number) =>
    ids.where("destination", "=", destination).where("next_try", "<=", now);

  return {
    /**
     * Destinations with queued mail, in order, starting after `after`, with the time when their first recipient is due.
     * Skips through the index from one destination to the next, so a million messages for one destination cost no more
     * than one message.
     */
    async destinations(after: string, limit: number): Promise<{ destination: string; due: number }[]> {
      const query = sql<{ destination: string; due: number }>`
        with recursive step(destination) as (
          select (select min(destination) from outbound_recipients where next_try is not null and destination > ${after})
          union all
          select (select min(destination) from outbound_recipients where next_try is not null and destination > step.destination) from step where step.destination is not null
        )
        select step.destination as destination,
          (select min(next_try) from outbound_recipients where next_try is not null and destination = step.destination) as due
        from step where step.destination is not null limit ${sql.lit(limit)}`;
      return db.read({ compile: () => query.compile(tables) } as Compilable<{ destination: string; due: number }>);
    },

    /** Claims the recipients that have been due longest, up to `limit`. */
    async claim(destination: string, limit: number, lease: Lease): Promise<RecipientRow[]> {
      const rows = await claim(
        dueIds(destination, lease.now).orderBy("next_try").orderBy("message_id").orderBy("id").limit(limit),
        lease,
      );
      return rows.sort(
        (a, b) => a.created_at - b.created_at || compare(a.message_id, b.message_id) || compare(a.id, b.id),
      );
    },

    /** Claims the due recipients of one message, up to `limit`. */
    claimOf: (messageId: string, destination: string, limit: number, lease: Lease): Promise<RecipientRow[]> =>
      claim(dueIds(destination, lease.now).where("message_id", "=", messageId).orderBy("id").limit(limit), lease),

    messages: (messageIds: string[]): Promise<MessageRow[]> =>
      db.read(tables.selectFrom("outbound_messages").selectAll().where("id", "in", messageIds)),

    /** Renews every claim that is still valid; returns their tokens. */
    async renew(tokens: string[], until: number): Promise<Set<string>> {
      const { rows } = await write(
        tables
          .updateTable("outbound_recipients")
          .set({ lease_until: until })
          .where("lease_until", "is not", null)
          .where("token", "in", tokens)
          .returning("token"),
      );
      return new Set(rows.map(({ token }) => token!));
    },

    /** Requeues recipients whose claim expired; the claim counts as an attempt. Returns their destinations. */
    async recover(now: number): Promise<string[]> {
      const expiredLeaseIds = ids.where("lease_until", "<", now).orderBy("lease_until").limit(BATCH_SIZE);
      if ((await db.read(expiredLeaseIds)).length === 0) return [];
      const { rows } = await write(
        tables
          .updateTable("outbound_recipients")
          .set({ state: waitingState, token: null, lease_until: null, next_try: now })
          .where("id", "in", expiredLeaseIds)
          .where("lease_until", "<", now)
          .returning("destination"),
      );
      return [...new Set(rows.map(({ destination }) => destination))];
    },

    /** Releases recipients without an attempt: they are due immediately, and the claim does not count as an attempt. */
    async release(token: string, recipientIds: string[], now: number): Promise<void> {
      await write(
        tables
          .updateTable("outbound_recipients")
          .set((eb) => ({
            state: sql`case when attempts <= 1 then 'queued' else 'deferred' end` as never,
            token: null,
            lease_until: null,
            next_try: now,
            attempts: eb("attempts", "-", 1),
          }))
          .where("id", "in", recipientIds)
          .where("token", "=", token),
      );
    },

    /** Stores the result; returns the ids whose claim was still valid. */
    async settle(token: string, recipientIds: string[], values: Partial<RecipientRow>): Promise<string[]> {
      const { rows } = await write(
        tables
          .updateTable("outbound_recipients")
          .set({ token: null, lease_until: null, ...values })
          .where("id", "in", recipientIds)
          .where("token", "=", token)
          .returning("id"),
      );
      return rows.map(({ id }) => id);
    },

    /** Fails recipients whose lifetime ended without an attempt because their destination is paused. */
    async expire(before: number, now: number): Promise<RecipientRow[]> {
      const old = ids
        .where("next_try", "is not", null)
        .where("expires_at", "<=", before)
        .orderBy("expires_at")
        .limit(BATCH_SIZE);
      if ((await db.read(old)).length === 0) return [];
      const { rows } = await write(
        tables
          .updateTable("outbound_recipients")
          .set({ state: "expired", next_try: null, finished_at: now, tell_at: now })
          .where("id", "in", old)
          .where("next_try", "is not", null)
          .returningAll(),
      );
      return rows;
    },

    /** Failures that have not been reported to the sender; leased to the caller until `until`. */
    async unreported(now: number, until: number): Promise<RecipientRow[]> {
      const pendingReportIds = ids.where("tell_at", "<=", now).orderBy("tell_at").limit(100);
      if ((await db.read(pendingReportIds)).length === 0) return [];
      return (
        await write(
          tables
            .updateTable("outbound_recipients")
            .set({ tell_at: until })
            .where("id", "in", pendingReportIds)
            .where("tell_at", "<=", now)
            .returningAll(),
        )
      ).rows;
    },

    async markReported(recipientIds: string[]): Promise<void> {
      await write(tables.updateTable("outbound_recipients").set({ tell_at: null }).where("id", "in", recipientIds));
    },

    /**
     * Records which of these messages are done. Returns those whose body can be deleted now. The process that finishes
     * the last recipient sees that all others are finished.
     */
    async finish(
      messageIds: string[],
      now: number,
      retention: { failed: number; delivered: number },
    ): Promise<Pick<MessageRow, "id" | "created_at" | "body_in">[]> {
      const { rows } = await write(
        tables
          .updateTable("outbound_messages")
          .set((eb) => ({
            finished_at: now,
            body_until: eb
              .case()
              .when(eb.exists(messageRecipients.where("state", "!=", "delivered")))
              .then(now + retention.failed)
              .else(now + retention.delivered)
              .end(),
          }))
          .where("id", "in", messageIds)
          .where("finished_at", "is", null)
          .where((eb) =>
            eb.not(
              eb.exists(
                messageRecipients.where((one) =>
                  one.or([one("next_try", "is not", null), one("lease_until", "is not", null)]),
                ),
              ),
            ),
          )
          .returning(["id", "created_at", "body_in", "body_until"]),
      );
      return rows.filter((row) => row.body_until! <= now);
    },
  };
}

/** "deferred" once a next hop has replied. */
const waitingState = sql`case when reply_code is null then 'queued' else 'deferred' end` as never;

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
