import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { type Db, type Migration, migrate, openPostgres, openSqlite } from "../../src/store/index.ts";
import { type Cluster, postgresAvailable, startCluster } from "./postgres.ts";

/** One engine to run a suite on. */
export interface TestEngine {
  readonly name: Db["dialect"];
  /** An empty database, or one with these migrations run; closed and removed when `scope` (a test context, or node:test's own `after`) ends. */
  open(scope: Scope, migrations?: readonly Migration[]): Promise<TestDatabase>;
}

export interface TestDatabase {
  db: Db;
  /** The same database once more, as another process would open it. Closed with the first. */
  another(): Promise<Db>;
  /** What to give to openSqlite (`path`) or openPostgres (`url`), for a process of its own. */
  where: { path: string } | { url: string };
}

export interface Scope {
  after(end: () => Promise<void>): void;
}

/**
 * Registers `suite` for SQLite and for PostgreSQL. Without PostgreSQL its part is skipped, loudly; with REQUIRE_ALL=1 it fails.
 *
 *     onEveryDatabase((engine) => test("keeps a rule", async (t) => { const { db } = await engine.open(t, mailMigrations); ... }));
 */
export function onEveryDatabase(suite: (engine: TestEngine) => void): void {
  describe("on sqlite", () => suite({ name: "sqlite", open: (scope, migrations) => openTemporary(scope, migrations) }));
  onPostgres(suite);
}

/** The same for what exists on PostgreSQL only. */
export function onPostgres(suite: (engine: TestEngine) => void): void {
  if (postgresAvailable()) {
    describe("on postgres", () => suite(postgresEngine()));
  } else if (process.env["REQUIRE_ALL"] === "1") {
    test("on postgres", () =>
      Promise.reject(
        new Error("PostgreSQL is not installed, and REQUIRE_ALL=1 forbids to skip: node scripts/system.ts test"),
      ));
  } else {
    process.stderr.write(
      "!! PostgreSQL is not installed, its part of this suite is skipped. To install it: node scripts/system.ts test\n",
    );
    test("on postgres", { skip: "PostgreSQL is not installed" }, () => {});
  }
}

async function openTemporary(scope: Scope, migrations: readonly Migration[] = []): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-sqlite-"));
  const where = { path: join(folder, "test.db") };
  return openAll(
    scope,
    migrations,
    where,
    async () => openSqlite(where),
    async () => rmSync(folder, { recursive: true, force: true }),
  );
}

function postgresEngine(): TestEngine {
  let cluster: Promise<Cluster | undefined> | undefined;
  after(async () => (await cluster)?.stop());
  return {
    name: "postgres",
    async open(scope, migrations = []) {
      const server = (await (cluster ??= startCluster()))!;
      const where = { url: await server.createDatabase() };
      return openAll(
        scope,
        migrations,
        where,
        () => openPostgres({ ...where, connections: 8 }),
        () => server.dropDatabase(where.url),
      );
    },
  };
}

async function openAll(
  scope: Scope,
  migrations: readonly Migration[],
  where: TestDatabase["where"],
  open: () => Promise<Db>,
  remove: () => Promise<void>,
): Promise<TestDatabase> {
  const opened: Db[] = [];
  scope.after(async () => {
    await Promise.allSettled(opened.map((db) => db.close()));
    await remove();
  });
  const another = async () => {
    const db = await open();
    opened.push(db);
    return db;
  };
  const db = await another();
  if (migrations.length > 0) await migrate(db, migrations);
  return { db, another, where };
}
