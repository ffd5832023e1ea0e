import { createHash } from "node:crypto";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { type Db, type Migration, migrate, openPostgres, openSqlite } from "../../src/store/index.ts";
import { type Cluster, isPostgresAvailable, startCluster } from "./postgres.ts";

/** A database engine to run a suite on. */
export interface TestEngine {
  readonly name: Db["dialect"];
  /**
   * Opens an empty database, or one with these migrations applied; closed and removed when `scope` (a test context, or
   * node:test's own `after`) ends.
   */
  open(scope: Scope, migrations?: readonly Migration[]): Promise<TestDatabase>;
}

export interface TestDatabase {
  db: Db;
  /** Opens another connection to the same database, as from another process. Closed with the first one. */
  another(): Promise<Db>;
  /** Argument for opening the database in another process: openSqlite (`path`) or openPostgres (`url`). */
  where: { path: string } | { url: string };
}

export interface Scope {
  after(end: () => Promise<void>): void;
}

/**
 * Registers `suite` for SQLite and for PostgreSQL. Without PostgreSQL, its tests are skipped with a message; with
 * REQUIRE_ALL=1 they fail.
 *
 * onEveryDatabase((engine) => test("keeps a rule", async (t) => { const { db } = await engine.open(t, mailMigrations);
 *     ... }));
 */
export function onEveryDatabase(suite: (engine: TestEngine) => void): void {
  describe("on sqlite", () => suite({ name: "sqlite", open: (scope, migrations) => openTemporary(scope, migrations) }));
  onPostgres(suite);
}

/** Registers a suite that applies to PostgreSQL only. */
export function onPostgres(suite: (engine: TestEngine) => void): void {
  if (isPostgresAvailable()) {
    describe("on postgres", () => suite(postgresEngine()));
  } else if (process.env["REQUIRE_ALL"] === "1") {
    test("on postgres", () =>
      Promise.reject(
        new Error("PostgreSQL is not installed, and REQUIRE_ALL=1 forbids skipping: node scripts/system.ts test"),
      ));
  } else {
    process.stderr.write(
      "!! PostgreSQL is not installed, its part of this suite is skipped. To install it: node scripts/system.ts test\n",
    );
    test("on postgres", { skip: "PostgreSQL is not installed" }, () => {});
  }
}

/** SQLite files with applied migrations, by key. */
const migratedFiles = new Map<string, Promise<string>>();

async function openTemporary(scope: Scope, migrations: readonly Migration[] = []): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-sqlite-"));
  const where = { path: join(folder, "test.db") };
  if (migrations.length > 0) copyFileSync(await migratedFile(migrations), where.path);
  return openAll(
    scope,
    where,
    async () => openSqlite(where),
    async () => rmSync(folder, { recursive: true, force: true }),
  );
}

function migratedFile(migrations: readonly Migration[]): Promise<string> {
  const key = keyOf(migrations);
  let file = migratedFiles.get(key);
  if (file === undefined) {
    file = createMigratedFile(migrations);
    migratedFiles.set(key, file);
  }
  return file;
}

async function createMigratedFile(migrations: readonly Migration[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-sqlite-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "migrated.db");
  await migrateAndClose(openSqlite({ path }), migrations);
  return path;
}

function postgresEngine(): TestEngine {
  let cluster: Promise<Cluster | undefined> | undefined;
  const templates = new Map<string, Promise<string>>();
  after(async () => (await cluster)?.stop());

  function templateOf(server: Cluster, migrations: readonly Migration[]): Promise<string> | undefined {
    const key = keyOf(migrations);
    if (!templates.has(key) && server.template !== undefined) {
      const fill = async (url: string) => migrateAndClose(await openPostgres({ url, connections: 1 }), migrations);
      templates.set(key, server.template(key, fill));
    }
    return templates.get(key);
  }

  return {
    name: "postgres",
    async open(scope, migrations = []) {
      const server = (await (cluster ??= startCluster()))!;
      const template = migrations.length > 0 ? await templateOf(server, migrations) : undefined;
      const where = { url: await server.createDatabase(template) };
      const database = await openAll(
        scope,
        where,
        () => openPostgres({ ...where, connections: 8 }),
        () => server.dropDatabase(where.url),
      );
      if (template === undefined && migrations.length > 0) await migrate(database.db, migrations);
      return database;
    },
  };
}

/** Returns the key of a list of migrations: two lists with the same key create the same schema. */
function keyOf(migrations: readonly Migration[]): string {
  const hash = createHash("sha256");
  for (const { name, up } of migrations) hash.update(`${name}\0${String(up)}\0`);
  return hash.digest("hex").slice(0, 24);
}

async function migrateAndClose(db: Db, migrations: readonly Migration[]): Promise<void> {
  try {
    await migrate(db, migrations);
  } finally {
    await db.close();
  }
}

async function openAll(
  scope: Scope,
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
  return { db, another, where };
}
