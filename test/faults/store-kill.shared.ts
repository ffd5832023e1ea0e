import { createHash } from "node:crypto";
import { sql } from "kysely";
import { type Db, type Job, type Migration, openPostgres, openSqlite } from "../../src/store/index.ts";

export type DatabaseLocation = { path: string } | { url: string };

export const openDatabaseAt = async (where: DatabaseLocation): Promise<Db> =>
  "path" in where ? openSqlite(where) : await openPostgres({ ...where, connections: 4 });

export interface KillTables {
  singles: { name: string };
  lefts: { name: string };
  rights: { name: string };
  effects: { job: string; attempt: number };
}

export const killMigration: Migration = {
  name: "kill-001",
  async up(db) {
    for (const name of ["singles", "lefts", "rights"])
      await sql`create table ${sql.raw(name)} (name text primary key)`.execute(db);
    await sql`create table effects (job text primary key, attempt bigint not null)`.execute(db);
  },
};

/** Returns 4 KB of data unique to this name. */
export const bytesOf = (name: string): Buffer => createHash("shake256", { outputLength: 4096 }).update(name).digest();

/** Applies a job's effect, which a second run of the same job will find already applied. */
export async function runEffect(db: Db, job: Job): Promise<void> {
  await db.write(
    db
      .tables<KillTables>()
      .insertInto("effects")
      .values({ job: job.id, attempt: job.attempt })
      .onConflict((on) => on.column("job").doNothing()),
  );
}
