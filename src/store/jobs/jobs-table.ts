import { sql, type Kysely } from "kysely";
import type { Db, Migration } from "../db/port.ts";

export interface JobRow {
  id: string;
  kind: string;
  key: string | null;
  payload: string;
  priority: number;
  run_at: number;
  status: "waiting" | "running" | "done" | "failed";
  attempt: number;
  max_attempts: number;
  /** The fencing token of the claim: a worker without it has lost the job. */
  token: string | null;
  lease_until: number | null;
  progress: string | null;
  error: string | null;
  finished_at: number | null;
}

interface Tables {
  jobs: JobRow;
}

export const jobsMigrations: readonly Migration[] = [
  {
    name: "jobs-001",
    async up(db, types) {
      await db.schema
        .createTable("jobs")
        .addColumn("id", sql.raw(types.keyText), (column) => column.primaryKey())
        .addColumn("kind", sql.raw(types.keyText), (column) => column.notNull())
        .addColumn("key", sql.raw(types.keyText))
        .addColumn("payload", "text", (column) => column.notNull())
        .addColumn("priority", "integer", (column) => column.notNull())
        .addColumn("run_at", "bigint", (column) => column.notNull())
        .addColumn("status", "text", (column) => column.notNull())
        .addColumn("attempt", "integer", (column) => column.notNull())
        .addColumn("max_attempts", "integer", (column) => column.notNull())
        .addColumn("token", "text")
        .addColumn("lease_until", "bigint")
        .addColumn("progress", "text")
        .addColumn("error", "text")
        .addColumn("finished_at", "bigint")
        .execute();
      await sql`create index jobs_waiting on jobs (kind, priority desc, run_at, id) where status = 'waiting'`.execute(
        db,
      );
      await sql`create unique index jobs_key on jobs (kind, key) where status = 'waiting' and key is not null`.execute(
        db,
      );
      await sql`create index jobs_running on jobs (kind, lease_until) where status = 'running'`.execute(db);
      await sql`create index jobs_finished on jobs (status, finished_at) where finished_at is not null`.execute(db);
    },
  },
];

// Literals in the SQL: SQLite uses a partial index only if the condition has no parameters.
const waiting = sql.lit("waiting" as const);
const running = sql.lit("running" as const);

/** A claim on a job. */
export interface JobClaim {
  id: string;
  token: string;
}

interface Claim {
  token: string;
  now: number;
  leaseUntil: number;
}

/** Rows per statement. Both engines limit the number of parameters. */
const INSERT_BATCH = 500;

export type JobsTable = ReturnType<typeof createJobsTable>;

export function createJobsTable(db: Db) {
  const tables = db.tables<Tables>();
  const ids = tables.selectFrom("jobs").select("id");

  /**
   * Claims the rows selected by `wantedIds`. Concurrent claimers get different rows: PostgreSQL skips locked rows,
   * SQLite has one writer.
   */
  async function claim(wantedIds: typeof ids, { token, leaseUntil }: Claim): Promise<JobRow[]> {
    const { rows } = await db.write(
      tables
        // Materialized, because PostgreSQL may otherwise run the subquery again for each row and exceed its limit.
        .with(
          (cte) => cte("picked").materialized(),
          () => (db.dialect === "postgres" ? wantedIds.forUpdate().skipLocked() : wantedIds),
        )
        .updateTable("jobs")
        .set((eb) => ({ status: "running" as const, token, lease_until: leaseUntil, attempt: eb("attempt", "+", 1) }))
        .where("id", "in", (eb) => eb.selectFrom("picked").select("id"))
        .returningAll(),
    );
    return rows;
  }

  return {
    async insert(row: JobRow): Promise<string> {
      const { rows } = await db.write(
        tables
          .insertInto("jobs")
          .values(row)
          .onConflict((on) =>
            on
              .columns(["kind", "key"])
              .where("status", "=", waiting)
              .where("key", "is not", null)
              .doUpdateSet({
                run_at: sql`case when excluded.run_at < jobs.run_at then excluded.run_at else jobs.run_at end`,
                priority: sql`case when excluded.priority > jobs.priority then excluded.priority else jobs.priority end`,
              }),
          )
          .returning("id"),
      );
      return rows[0]!.id;
    },

    /** Inserts the rows that `claim` returns, in the same transaction. The rows must not have a key. */
    insertClaimed: <ClaimTables>(claim: (tx: Kysely<ClaimTables>) => Promise<JobRow[]>): Promise<JobRow[]> =>
      db.transaction<ClaimTables & Tables, JobRow[]>(async (tx) => {
        const rows = await claim(tx as unknown as Kysely<ClaimTables>);
        for (let start = 0; start < rows.length; start += INSERT_BATCH)
          await (tx as unknown as Kysely<Tables>)
            .insertInto("jobs")
            .values(rows.slice(start, start + INSERT_BATCH))
            .execute();
        return rows;
      }),

    find: (id: string): Promise<JobRow | undefined> =>
      tables.selectFrom("jobs").selectAll().where("id", "=", id).executeTakeFirst(),

    /** Claims up to `limit` waiting jobs. Returns them in execution order, which RETURNING does not guarantee. */
    async claimWaiting(kind: string, limit: number, claimant: Claim, { onePerKey = false } = {}): Promise<JobRow[]> {
      let dueIds = ids.where("kind", "=", kind).where("status", "=", waiting).where("run_at", "<=", claimant.now);
      // A claimer that sees the waiting job also sees the earlier claim: the unique index on keys admits the waiting
      // job only after that claim has been committed.
      if (onePerKey) {
        dueIds = dueIds.where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("jobs as earlier")
                .select("earlier.id")
                .where("earlier.kind", "=", kind)
                .where("earlier.status", "=", running)
                .whereRef("earlier.key", "=", "jobs.key"),
            ),
          ),
        );
      }
      const rows = await claim(
        dueIds.orderBy("priority", "desc").orderBy("run_at").orderBy("id").limit(limit),
        claimant,
      );
      return rows.sort((a, b) => b.priority - a.priority || a.run_at - b.run_at || (a.id < b.id ? -1 : 1));
    },

    /** Claims running jobs whose lease expired, except those in their last attempt: failExhausted ends them. */
    claimExpired: (kind: string, limit: number, claimant: Claim): Promise<JobRow[]> =>
      claim(
        ids
          .where("kind", "=", kind)
          .where("status", "=", running)
          .where("lease_until", "<", claimant.now)
          .whereRef("attempt", "<", "max_attempts")
          .orderBy("lease_until")
          .limit(limit),
        claimant,
      ),

    /** Fails jobs whose worker died during the last attempt. */
    async failExhausted(kind: string, now: number): Promise<void> {
      await db.write(
        tables
          .updateTable("jobs")
          .set({ ...finishedValues("failed", now), error: "its worker disappeared during the last attempt" })
          .where("kind", "=", kind)
          .where("status", "=", running)
          .where("lease_until", "<", now)
          .whereRef("attempt", ">=", "max_attempts"),
      );
    },

    /** Renews all valid claims and returns their ids. */
    async renew(held: JobClaim[], leaseUntil: number): Promise<Set<string>> {
      const { rows } = await db.write(
        tables
          .updateTable("jobs")
          .set({ lease_until: leaseUntil })
          .where(
            "id",
            "in",
            held.map(({ id }) => id),
          )
          .where(
            "token",
            "in",
            held.map(({ token }) => token),
          )
          .returning("id"),
      );
      return new Set(rows.map(({ id }) => id));
    },

    /** True if the claim was still valid. */
    async settle({ id, token }: JobClaim, values: Partial<JobRow>): Promise<boolean> {
      const { affected } = await db.write(
        tables.updateTable("jobs").set(values).where("id", "=", id).where("token", "=", token),
      );
      return affected === 1;
    },

    /**
     * Returns the job to the queue, or ends it if another job of its key is already waiting. True if the claim was
     * still valid.
     */
    release: (held: JobClaim, now: number, values: Pick<JobRow, "run_at" | "attempt" | "error">): Promise<boolean> =>
      db.transaction<Tables, boolean>(async (tx) => {
        const claimedJob = await tx
          .selectFrom("jobs")
          .select(["kind", "key"])
          .where("id", "=", held.id)
          .where("token", "=", held.token)
          .executeTakeFirst();
        if (!claimedJob) return false;
        const sameKey = tx
          .selectFrom("jobs")
          .select("id")
          .where("status", "=", waiting)
          .where("kind", "=", claimedJob.kind)
          .where("key", "=", claimedJob.key);
        const replacementJob = claimedJob.key === null ? undefined : await sameKey.executeTakeFirst();
        const next: Partial<JobRow> = replacementJob
          ? {
              ...finishedValues("failed", now),
              error: `job ${replacementJob.id} with the same key took over; ${values.error ?? "stopped"}`,
            }
          : { ...values, status: "waiting", token: null, lease_until: null };
        await tx.updateTable("jobs").set(next).where("id", "=", held.id).execute();
        return true;
      }),

    /** Deletes up to a thousand jobs that ended before the given time; returns their number. */
    async forget(status: "done" | "failed", before: number): Promise<number> {
      const old = ids.where("status", "=", status).where("finished_at", "<", before).orderBy("finished_at").limit(1000);
      return (await db.write(tables.deleteFrom("jobs").where("id", "in", old))).affected;
    },
  };
}

/**
 * Ends all leases. Called at start by a process that uses the database alone: otherwise it would wait for leases of its
 * previous run.
 */
export async function reclaimJobs(db: Db): Promise<void> {
  await db.write(db.tables<Tables>().updateTable("jobs").set({ lease_until: 0 }).where("status", "=", running));
}

/** Counts running jobs by kind and the first 16 digits of their lease token; see Ids.lease. At most 500 groups. */
export async function countRunningJobs(db: Db): Promise<{ kind: string; holder: string; count: number }[]> {
  const holder = sql<string>`substr(token, 1, 16)`;
  return db.read(
    db
      .tables<Tables>()
      .selectFrom("jobs")
      .select(["kind", holder.as("holder"), sql<number>`count(*)`.as("count")])
      .where("status", "=", running)
      .where("token", "is not", null)
      .groupBy(["kind", holder])
      .orderBy("kind")
      .limit(500),
  );
}

export const finishedValues = (status: "done" | "failed", now: number): Partial<JobRow> => ({
  status,
  token: null,
  lease_until: null,
  finished_at: now,
});
