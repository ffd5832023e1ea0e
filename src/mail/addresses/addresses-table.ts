import { sql, type Kysely } from "kysely";
import { offsetOf, type Page, type PageRequest } from "../../kernel/index.ts";
import type { Migration } from "../../store/index.ts";
import type { DestinationAddress } from "./types.ts";

export interface AddressTables {
  email_addresses: {
    id: string;
    account_id: string;
    email: string;
    /** Key for comparing addresses. */
    address: string;
    verified_at: number | null;
    /** SHA-256 of the token in the latest verification link; null without a valid link. */
    token_hash: string | null;
    token_expires_at: number | null;
    sent_at: number | null;
    created_at: number;
    modified_at: number;
  };
}

export type AddressExecutor = Kysely<AddressTables>;
type Row = AddressTables["email_addresses"];

export const addressesMigration: Migration = {
  name: "mail-003-addresses",
  async up(db, types) {
    const key = sql.raw(types.keyText);
    await db.schema
      .createTable("email_addresses")
      .addColumn("id", key, (column) => column.primaryKey())
      .addColumn("account_id", key, (column) => column.notNull())
      .addColumn("email", "text", (column) => column.notNull())
      .addColumn("address", key, (column) => column.notNull())
      .addColumn("verified_at", "bigint")
      .addColumn("token_hash", key)
      .addColumn("token_expires_at", "bigint")
      .addColumn("sent_at", "bigint")
      .addColumn("created_at", "bigint", (column) => column.notNull())
      .addColumn("modified_at", "bigint", (column) => column.notNull())
      .execute();
    await db.schema
      .createIndex("email_addresses_address")
      .on("email_addresses")
      .columns(["account_id", "address"])
      .unique()
      .execute();
    await db.schema
      .createIndex("email_addresses_created")
      .on("email_addresses")
      .columns(["account_id", "created_at", "id"])
      .execute();
    await sql`create unique index email_addresses_token on email_addresses (token_hash) where token_hash is not null`.execute(
      db,
    );
  },
};

export interface StoredAddress extends DestinationAddress {
  address: string;
  tokenHash: string | null;
  tokenExpiresAt: number | null;
  sentAt: number | null;
}

export const addressById = async (
  db: AddressExecutor,
  account: string,
  id: string,
): Promise<StoredAddress | undefined> =>
  fromRow(
    await db
      .selectFrom("email_addresses")
      .selectAll()
      .where("id", "=", id)
      .where("account_id", "=", account)
      .executeTakeFirst(),
  );

export const addressByKey = async (
  db: AddressExecutor,
  account: string,
  address: string,
): Promise<StoredAddress | undefined> =>
  fromRow(
    await db
      .selectFrom("email_addresses")
      .selectAll()
      .where("account_id", "=", account)
      .where("address", "=", address)
      .executeTakeFirst(),
  );

export const addressByToken = async (db: AddressExecutor, hash: string): Promise<StoredAddress | undefined> =>
  fromRow(await db.selectFrom("email_addresses").selectAll().where("token_hash", "=", hash).executeTakeFirst());

/** Returns the first verified address of the account. */
export const oldestVerified = async (db: AddressExecutor, account: string): Promise<StoredAddress | undefined> =>
  fromRow(
    await db
      .selectFrom("email_addresses")
      .selectAll()
      .where("account_id", "=", account)
      .where("verified_at", "is not", null)
      .orderBy("created_at")
      .orderBy("id")
      .limit(1)
      .executeTakeFirst(),
  );

/** An account has a few hundred addresses at most, so they are counted on demand. */
export async function countAddresses(db: AddressExecutor, account: string): Promise<number> {
  return Number(
    (
      await db
        .selectFrom("email_addresses")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .where("account_id", "=", account)
        .executeTakeFirstOrThrow()
    ).count,
  );
}

export interface AddressQuery {
  verified?: boolean | undefined;
  direction?: "asc" | "desc" | undefined;
}

export async function listAddresses(
  db: AddressExecutor,
  account: string,
  { verified, direction = "asc" }: AddressQuery,
  page: PageRequest,
): Promise<Page<StoredAddress>> {
  const accountAddresses = db.selectFrom("email_addresses").where("account_id", "=", account);
  const filteredAddresses =
    verified === undefined ? accountAddresses : accountAddresses.where("verified_at", verified ? "is not" : "is", null);
  const { total } = await filteredAddresses
    .select(({ fn }) => fn.countAll<number>().as("total"))
    .executeTakeFirstOrThrow();
  const rows = await filteredAddresses
    .selectAll()
    .orderBy("created_at", direction)
    .orderBy("id", direction)
    .limit(page.perPage)
    .offset(offsetOf(page))
    .execute();
  return { items: rows.map((row) => fromRow(row)!), total: Number(total) };
}

export async function upsertAddress(db: AddressExecutor, stored: StoredAddress): Promise<void> {
  const row = toRow(stored);
  await db
    .insertInto("email_addresses")
    .values(row)
    .onConflict((conflict) => conflict.column("id").doUpdateSet(row))
    .execute();
}

export async function deleteAddress(db: AddressExecutor, id: string): Promise<void> {
  await db.deleteFrom("email_addresses").where("id", "=", id).execute();
}

const toRow = (one: StoredAddress): Row => ({
  id: one.id,
  account_id: one.account,
  email: one.email,
  address: one.address,
  verified_at: one.verifiedAt,
  token_hash: one.tokenHash,
  token_expires_at: one.tokenExpiresAt,
  sent_at: one.sentAt,
  created_at: one.createdAt,
  modified_at: one.modifiedAt,
});

const fromRow = (row: Row | undefined): StoredAddress | undefined =>
  row && {
    id: row.id,
    account: row.account_id,
    email: row.email,
    address: row.address,
    verifiedAt: row.verified_at,
    tokenHash: row.token_hash,
    tokenExpiresAt: row.token_expires_at,
    sentAt: row.sent_at,
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
  };
