import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql, type RawBuilder } from "kysely";
import { randomIds, silentLog, systemClock } from "../../src/kernel/index.ts";
import {
  createLocalEvents,
  createSecrets,
  openFsObjects,
  type Db,
  type Events,
  type ObjectStore,
  type Secrets,
} from "../../src/store/index.ts";

/** Data whose amount grows, and the operations on it that must not become slower. */
export interface Subject {
  name: string;
  /** Numbers of rows. */
  rows: { few: number; many: number };
  /** Creates the rows in a migrated database. */
  open(world: World, rows: number): Promise<Operation[]>;
}

export interface Operation {
  name: string;
  /** Runs before each measured call. */
  prepare?(): Promise<unknown>;
  /** Throws if the result is wrong. */
  run(): Promise<unknown>;
}

interface World {
  db: Db;
  events: Events;
  objects: ObjectStore;
  secrets: Secrets;
  onClose(close: () => Promise<void> | void): void;
}

export const ACCOUNT = "a".repeat(32);
export const shared = { clock: systemClock, ids: randomIds, log: silentLog };

/** Opens the components that a subject needs besides the database. They are closed with `scope`. */
export async function openComponents(
  db: Db,
  scope: { after(end: () => Promise<void>): void },
  parent = tmpdir(),
): Promise<World> {
  const folder = mkdtempSync(join(parent, "growth-"));
  const events = createLocalEvents({ log: silentLog });
  const closes: (() => Promise<void> | void)[] = [];
  scope.after(async () => {
    for (const close of closes.toReversed()) await close();
    await events.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    db,
    events,
    objects: await openFsObjects({ folder }),
    secrets: createSecrets({ keys: [Buffer.alloc(32, 1)] }),
    onClose: (close) => void closes.push(close),
  };
}

export const random = (below: number): number => Math.floor(Math.random() * below);

const INDEX = sql.ref<number>("series.i");
const SCATTER = 2_654_435_761n;

/** The id of row `index`: 32 hex digits in no order, like random ids. */
export function idOf(index: number): string {
  const scattered = (BigInt(index) * SCATTER) % 2n ** 32n;
  return scattered.toString(16).padStart(8, "0") + index.toString(16).padStart(24, "0");
}

/** Expressions for columns of row `series.i`, in the SQL of each engine. */
export function columnsOf({ dialect }: Pick<Db, "dialect">) {
  const isSqlite = dialect === "sqlite";
  return {
    index: INDEX,
    /** `idOf`. */
    id: isSqlite
      ? sql`printf('%08x%024x', (series.i * 2654435761) % 4294967296, series.i)`
      : sql`lpad(to_hex((series.i * 2654435761) % 4294967296), 8, '0') || lpad(to_hex(series.i), 24, '0')`,
    /** 32 hex digits in the order of the rows. */
    orderedId: isSqlite ? sql`printf('%032x', series.i)` : sql`lpad(to_hex(series.i), 32, '0')`,
    /** Seven digits; see `digits`. */
    digits: isSqlite ? sql`printf('%07d', series.i)` : sql`lpad(series.i::text, 7, '0')`,
    bytes: (text: RawBuilder<unknown>) => (isSqlite ? sql`cast(${text} as blob)` : sql`convert_to(${text}, 'UTF8')`),
  };
}

export const digits = (index: number): string => String(index).padStart(7, "0");

/**
 * Inserts `rows` copies of the only row of a table that a component of the program has created. `overrides` are
 * expressions for the columns that differ.
 */
export async function multiply(
  db: Db,
  table: string,
  rows: number,
  overrides: Record<string, RawBuilder<unknown>>,
): Promise<void> {
  // oxlint-disable-next-line no-explicit-any
  const tables = db.tables<any>();
  const template = (await tables.selectFrom(table).selectAll().limit(1).executeTakeFirstOrThrow()) as object;
  const columns = Object.keys(template);
  const unknown = Object.keys(overrides).filter((column) => !columns.includes(column));
  if (unknown.length > 0) throw new Error(`${table} has no column ${unknown.join(", ")}`);
  const values = columns.map((column) => overrides[column] ?? sql.ref(`template.${column}`));
  await db.withoutTimeLimit(() =>
    sql`
      insert into ${sql.table(table)} (${sql.join(columns.map((column) => sql.ref(column)))})
      with recursive series(i) as (
        select cast(0 as bigint) union all select i + 1 from series where i + 1 < ${sql.lit(rows)}
      )
      select ${sql.join(values)} from series cross join (select * from ${sql.table(table)} limit 1) as template`.execute(
      tables,
    ),
  );
}

/** Brings the statistics and the visibility map up to date, as the autovacuum of a running server does. */
export async function updateStatistics(db: Db): Promise<void> {
  if (db.dialect === "postgres") await db.withoutTimeLimit(() => sql`vacuum analyze`.execute(db.tables()));
}

export function expectRows(found: { length: number }, count: number): void {
  if (found.length !== count) throw new Error(`found ${found.length} rows instead of ${count}`);
}
