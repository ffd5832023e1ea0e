import type { Kysely } from "kysely";
import { sql } from "kysely";
import type { Migration } from "../../store/index.ts";
import type { DkimAlgorithm, DkimKey, DkimState, DkimUse } from "./types.ts";

export interface DkimTables {
  dkim_keys: {
    id: string;
    zone_id: string;
    account_id: string;
    domain: string;
    purpose: DkimUse;
    selector: string;
    algorithm: DkimAlgorithm;
    state: DkimState;
    /** Number of the rotation that created the key, from 1. */
    turn: number;
    public_key: string;
    /** Encrypted; the key context is `dkim/<id>`. */
    private_key: string;
    created_at: number;
    retired_at: number | null;
  };
}

type DkimExecutor = Kysely<DkimTables>;
type Row = DkimTables["dkim_keys"];

export const dkimMigration: Migration = {
  name: "mail-001-dkim-keys",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema
      .createTable("dkim_keys")
      .addColumn("id", key, (column) => column.primaryKey())
      .addColumn("zone_id", key, (column) => column.notNull())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("domain", key, (column) => column.notNull())
      .addColumn("purpose", key, (column) => column.notNull())
      .addColumn("selector", key, (column) => column.notNull())
      .addColumn("algorithm", key, (column) => column.notNull())
      .addColumn("state", key, (column) => column.notNull())
      .addColumn("turn", "integer", (column) => column.notNull())
      .addColumn("public_key", "text", (column) => column.notNull())
      .addColumn("private_key", "text", (column) => column.notNull())
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("retired_at", "bigint")
      .execute();
    await db.schema
      .createIndex("dkim_keys_selector")
      .on("dkim_keys")
      .columns(["zone_id", "domain", "selector"])
      .unique()
      .execute();
    await sql`create index dkim_keys_retired on dkim_keys (retired_at, id) where retired_at is not null`.execute(db);
  },
};

export const dkimStateMigration: Migration = {
  name: "mail-006-dkim-states",
  async up(db) {
    await db.schema.createIndex("dkim_keys_state").on("dkim_keys").columns(["state", "created_at", "id"]).execute();
  },
};

export interface StoredKey extends DkimKey {
  turn: number;
  /** Encrypted. */
  privateKey: string;
}

export async function insertKeys(db: DkimExecutor, keys: readonly StoredKey[]): Promise<void> {
  if (keys.length > 0) await db.insertInto("dkim_keys").values(keys.map(toRow)).execute();
}

/** Oldest first. */
export async function keysOf(db: DkimExecutor, zone: string, domain: string, use: DkimUse): Promise<StoredKey[]> {
  const rows = await db
    .selectFrom("dkim_keys")
    .selectAll()
    .where("zone_id", "=", zone)
    .where("domain", "=", domain)
    .where("purpose", "=", use)
    .orderBy("turn")
    .orderBy("algorithm", "desc")
    .execute();
  return rows.map(fromRow);
}

/** Resolves with the key for this selector and domain, in any state. */
export async function keyBySelector(
  db: DkimExecutor,
  domain: string,
  selector: string,
): Promise<StoredKey | undefined> {
  const row = await db
    .selectFrom("dkim_keys")
    .selectAll()
    .where("domain", "=", domain)
    .where("selector", "=", selector)
    .orderBy("created_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return row && fromRow(row);
}

export async function setState(
  db: DkimExecutor,
  id: string,
  state: DkimState,
  retiredAt: number | null,
): Promise<void> {
  await db.updateTable("dkim_keys").set({ state, retired_at: retiredAt }).where("id", "=", id).execute();
}

type Name = Pick<DkimKey, "zone" | "domain" | "use">;

/**
 * Resolves with up to `limit` names that have had keys in this state since before this time, in name order, starting
 * after `after`.
 */
export async function namesWith(
  db: DkimExecutor,
  state: DkimState,
  before: number,
  limit: number,
  after?: Name,
): Promise<Name[]> {
  const rows = await db
    .selectFrom("dkim_keys")
    .select(["zone_id", "domain", "purpose"])
    .distinct()
    .where("state", "=", state)
    .where("created_at", "<=", before)
    .$if(after !== undefined, (some) =>
      some.where((eb) =>
        eb(eb.refTuple("zone_id", "domain", "purpose"), ">", eb.tuple(after!.zone, after!.domain, after!.use)),
      ),
    )
    .orderBy("zone_id")
    .orderBy("domain")
    .orderBy("purpose")
    .limit(limit)
    .execute();
  return rows.map(({ zone_id: zone, domain, purpose: use }) => ({ zone, domain, use }));
}

/** Deletes and returns keys retired before this time, at most `limit`. */
export async function deleteRetired(db: DkimExecutor, before: number, limit: number): Promise<StoredKey[]> {
  const old = db
    .selectFrom("dkim_keys")
    .select("id")
    .where("retired_at", "<", before)
    .orderBy("retired_at")
    .orderBy("id")
    .limit(limit);
  return (await db.deleteFrom("dkim_keys").where("id", "in", old).returningAll().execute()).map(fromRow);
}

export async function deleteKeysOf(db: DkimExecutor, zone: string): Promise<void> {
  await db.deleteFrom("dkim_keys").where("zone_id", "=", zone).execute();
}

const toRow = (key: StoredKey): Row => ({
  id: key.id,
  zone_id: key.zone,
  account_id: key.account,
  domain: key.domain,
  purpose: key.use,
  selector: key.selector,
  algorithm: key.algorithm,
  state: key.state,
  turn: key.turn,
  public_key: key.publicKey,
  private_key: key.privateKey,
  created_at: key.createdAt,
  retired_at: key.retiredAt,
});

const fromRow = (row: Row): StoredKey => ({
  id: row.id,
  zone: row.zone_id,
  account: row.account_id,
  domain: row.domain,
  use: row.purpose,
  selector: row.selector,
  algorithm: row.algorithm,
  state: row.state,
  turn: row.turn,
  publicKey: row.public_key,
  privateKey: row.private_key,
  createdAt: row.created_at,
  retiredAt: row.retired_at,
});
