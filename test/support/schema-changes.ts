import { DummyDriver, Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import type { Migration } from "../../src/store/index.ts";

/** Returns the SQL statements of a migration on an empty database. */
export async function statementsOf({ up }: Pick<Migration, "up">): Promise<string[]> {
  const statements: string[] = [];
  // oxlint-disable-next-line no-explicit-any
  const db = new Kysely<any>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: (kysely) => new SqliteIntrospector(kysely),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
    log: ({ query }) => void statements.push(query.sql.replaceAll(/\s+/g, " ").trim().toLowerCase()),
  });
  await up(db, { bytes: "blob", keyText: "text" });
  return statements;
}

const TABLE = '"?([a-z0-9_]+)"?';
const CREATE_TABLE = new RegExp(`^create (?:virtual )?table (?:if not exists )?${TABLE}`);
const CREATE_INDEX = new RegExp(`^create (unique )?index .*? on ${TABLE}`);
/** A trigger that rejects no write, such as one that fills an index. */
const CREATE_TRIGGER = /^create trigger (?!.*\braise\b)/;
const ADD_COLUMN = new RegExp(`^alter table ${TABLE} add column (.*)$`);
const CHANGE_ROWS = new RegExp(`^(?:insert into|update|delete from) ${TABLE}`);

/**
 * Returns the statements that may break a version which does not know the migration: all except new tables, non-unique
 * indexes, triggers that reject nothing, and columns that inserts may omit.
 */
export function restrictiveStatements(statements: readonly string[]): string[] {
  const created = new Set<string>();
  return statements.filter((statement) => {
    const table = CREATE_TABLE.exec(statement)?.[1];
    if (table !== undefined) {
      created.add(table);
      return false;
    }
    const index = CREATE_INDEX.exec(statement);
    if (index !== null) return index[1] !== undefined && !created.has(index[2]!);
    const column = ADD_COLUMN.exec(statement);
    if (column !== null)
      return !created.has(column[1]!) && /\bnot null\b/.test(column[2]!) && !/\bdefault\b/.test(column[2]!);
    const changed = CHANGE_ROWS.exec(statement)?.[1];
    if (changed !== undefined) return !created.has(changed);
    return !statement.startsWith("select ") && !CREATE_TRIGGER.test(statement);
  });
}
