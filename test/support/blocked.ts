import { setTimeout as sleep } from "node:timers/promises";
import { sql } from "kysely";
import type { Db } from "../../src/store/index.ts";

/** Resolves when a statement in this PostgreSQL database waits for a lock. */
export async function untilBlocked(db: Db): Promise<void> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(2)) {
    const { rows } = await sql<{
      n: number;
    }>`select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(
      db.tables(),
    );
    if (Number(rows[0]!.n) > 0) return;
  }
  throw new Error("no statement is waiting for a lock");
}
