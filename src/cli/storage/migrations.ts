import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../kernel/index.ts";
import { commandErrors } from "../errors.ts";
import type { D1Connection } from "./d1-database.ts";
import { runSql } from "./d1-query.ts";

/** The directory of a database's migrations and the table that records the applied ones. */
interface MigrationSettings {
  dir: string;
  table: string;
}

export const migrationSettingsOf = ({
  configured,
  name,
}: Pick<D1Connection, "configured" | "name">): MigrationSettings => {
  if (configured === undefined) throw commandErrors.databaseUnbound({ name });
  return { dir: configured.migrationsDir, table: configured.migrationsTable };
};

/** Names of the .sql files in execution order: by number, then by name. */
async function migrationFiles(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === "ENOENT") return [];
    throw commandErrors.fileUnreadable({ file: dir, reason: messageOf(cause) }, { cause });
  });
  const names = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".sql")).map(({ name }) => name);
  return names.sort((a, b) => numberOf(a) - numberOf(b) || (a < b ? -1 : 1));
}

const numberOf = (name: string) => (/^\d+/.test(name) ? Number.parseInt(name, 10) : Infinity);

/** Creates an empty migration with the next number: `0003_add_users.sql`. */
export async function createMigrationFile(dir: string, message: string): Promise<string> {
  const last = Math.max(0, ...(await migrationFiles(dir)).map(numberOf).filter(Number.isFinite));
  const words = message
    .trim()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "_")
    .replaceAll(/^_+|_+$/g, "");
  const name = `${String(last + 1).padStart(4, "0")}_${words || "migration"}.sql`;
  try {
    await mkdir(dir, { recursive: true });
    await writeFile(join(dir, name), `-- Migration number: ${last + 1}\n`, { flag: "wx" });
  } catch (cause) {
    throw commandErrors.fileUnwritable({ file: join(dir, name), reason: messageOf(cause) }, { cause });
  }
  return name;
}

/** Resolves with the migrations that have not been applied to the database. */
export async function findUnappliedMigrations(
  connection: D1Connection,
  { dir, table }: MigrationSettings,
): Promise<string[]> {
  const files = await migrationFiles(dir);
  const name = quoteIdentifier(table);
  await runSql(
    connection,
    `CREATE TABLE IF NOT EXISTS ${name} (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL);`,
  );
  const rows = await runSql(connection, `SELECT name FROM ${name} ORDER BY id;`);
  const appliedNames = new Set(rows[0]?.results.map((row) => row["name"]));
  return files.filter((file) => !appliedNames.has(file));
}

/** Applies one migration and records it in the same call: the server runs both or neither. */
export async function applyMigration(
  connection: D1Connection,
  { dir, table }: MigrationSettings,
  file: string,
): Promise<void> {
  const sql = await readFile(join(dir, file), "utf8").catch((cause: unknown) => {
    throw commandErrors.fileUnreadable({ file, reason: messageOf(cause) }, { cause });
  });
  // The line break ends a comment on the last line and the semicolon ends an unterminated statement; an empty statement
  // has no effect.
  await runSql(
    connection,
    `${sql}\n;\nINSERT INTO ${quoteIdentifier(table)} (name) VALUES ('${file.replaceAll("'", "''")}');`,
  );
}

const quoteIdentifier = (name: string) => `"${name.replaceAll('"', '""')}"`;
