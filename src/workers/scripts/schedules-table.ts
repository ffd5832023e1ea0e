import { sql } from "kysely";
import type { Schedule, ScriptRef } from "./port.ts";
import type { Tables } from "./scripts-table.ts";

export async function listSchedules(tables: Tables, scriptId: string): Promise<Schedule[]> {
  const rows = await tables
    .selectFrom("worker_schedules")
    .selectAll()
    .where("script_id", "=", scriptId)
    .orderBy("position")
    .execute();
  return rows.map(({ cron, created_at, modified_at }) => ({
    cron,
    createdAt: new Date(created_at),
    modifiedAt: new Date(modified_at),
  }));
}

/**
 * Replaces the schedules of a worker. Expressions that are kept retain their creation time and do not run again in a
 * minute in which they have already run.
 */
export async function replaceSchedules(
  tables: Tables,
  script: { id: string; account: string },
  crons: string[],
  now: number,
): Promise<void> {
  const obsolete = tables.deleteFrom("worker_schedules").where("script_id", "=", script.id);
  await (crons.length === 0 ? obsolete : obsolete.where("cron", "not in", crons)).execute();
  if (crons.length === 0) return;
  await tables
    .insertInto("worker_schedules")
    // A new schedule skips the current minute.
    .values(
      crons.map((cron, position) => ({
        script_id: script.id,
        cron,
        account_id: script.account,
        position,
        created_at: now,
        modified_at: now,
        last_run: Math.floor(now / 60_000),
      })),
    )
    .onConflict((on) =>
      on
        .columns(["script_id", "cron"])
        .doUpdateSet((eb) => ({ position: eb.ref("excluded.position"), modified_at: now })),
    )
    .execute();
}

export async function distinctCrons(tables: Tables, after: string, limit: number): Promise<string[]> {
  // Skips through the index from one expression to the next: thousands of workers may have the same one.
  const { rows } = await sql<{ cron: string }>`
    with recursive step(cron) as (
      select (select min(cron) from worker_schedules where cron > ${after})
      union all
      select (select min(cron) from worker_schedules where cron > step.cron) from step where step.cron is not null
    )
    select cron from step where cron is not null limit ${sql.lit(limit)}`.execute(tables);
  return rows.map(({ cron }) => cron);
}

export interface DueSchedule {
  scriptId: string;
  cron: string;
}

/**
 * Claims up to `limit` runs of the schedules with these expressions, in this minute (counted from the epoch). Each run
 * is returned to exactly one of the concurrent callers. A caller waits for concurrent transactions, so that it gets a
 * run whose claim is rolled back.
 */
export async function claimRuns(
  tables: Tables,
  crons: string[],
  minute: number,
  limit: number,
): Promise<DueSchedule[]> {
  const rows = await tables
    // Materialized, because PostgreSQL might otherwise execute the subquery for each row, and exceed its limit.
    .with(
      (cte) => cte("due").materialized(),
      (db) =>
        db
          .selectFrom("worker_schedules")
          .select(["script_id", "cron"])
          .where("cron", "in", crons)
          .where("last_run", "<", minute)
          .limit(limit),
    )
    .updateTable("worker_schedules")
    .set({ last_run: minute })
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple("script_id", "cron"),
        "in",
        selectFrom("due").select(["due.script_id", "due.cron"]).$asTuple("script_id", "cron"),
      ),
    )
    .where("last_run", "<", minute)
    .returning(["script_id", "cron"])
    .execute();
  return rows.map(({ script_id, cron }) => ({ scriptId: script_id, cron }));
}

export async function scheduledScript(tables: Tables, scriptId: string): Promise<ScriptRef | undefined> {
  const row = await tables
    .selectFrom("worker_scripts")
    .select(["account_id", "name"])
    .where("id", "=", scriptId)
    .where("live_deployment_id", "is not", null)
    .executeTakeFirst();
  return row && { account: row.account_id, script: row.name, id: scriptId };
}
