import { sql } from "kysely";
import type { Role } from "./roles.ts";
import type { AccountTables, AccountsExecutor } from "./tables.ts";
import type { Account, Membership, MembershipStatus, User } from "./types.ts";

export const emailKey = (email: string): string => email.toLowerCase();

// ---- users

export async function insertUser(db: AccountsExecutor, user: User): Promise<void> {
  await db
    .insertInto("users")
    .values({
      id: user.id,
      email: user.email,
      email_key: emailKey(user.email),
      first_name: user.firstName,
      last_name: user.lastName,
      telephone: user.telephone,
      country: user.country,
      zipcode: user.zipcode,
      global_key_hash: null,
      created_at: user.createdAt,
    })
    .execute();
}

/** Resolves with the user created during the first run. */
export async function firstUser(db: AccountsExecutor): Promise<User | undefined> {
  const row = await db.selectFrom("users").selectAll().orderBy("created_at").orderBy("id").limit(1).executeTakeFirst();
  return row && toUser(row);
}

export async function findUser(db: AccountsExecutor, id: string): Promise<User | undefined> {
  const row = await db.selectFrom("users").selectAll().where("id", "=", id).executeTakeFirst();
  return row && toUser(row);
}

export async function findUserByEmail(db: AccountsExecutor, email: string): Promise<User | undefined> {
  // PostgreSQL rejects U+0000 in text.
  if (email.includes("\0")) return undefined;
  const row = await db.selectFrom("users").selectAll().where("email_key", "=", emailKey(email)).executeTakeFirst();
  return row && toUser(row);
}

export async function findUserByGlobalKey(db: AccountsExecutor, hash: string): Promise<User | undefined> {
  const row = await db.selectFrom("users").selectAll().where("global_key_hash", "=", hash).executeTakeFirst();
  return row && toUser(row);
}

export async function setGlobalKey(db: AccountsExecutor, user: string, hash: string): Promise<void> {
  await db.updateTable("users").set({ global_key_hash: hash }).where("id", "=", user).execute();
}

export async function updateUser(
  db: AccountsExecutor,
  id: string,
  change: Partial<Pick<User, "firstName" | "lastName" | "telephone" | "country" | "zipcode">>,
): Promise<void> {
  const set = {
    ...(change.firstName !== undefined && { first_name: change.firstName }),
    ...(change.lastName !== undefined && { last_name: change.lastName }),
    ...(change.telephone !== undefined && { telephone: change.telephone }),
    ...(change.country !== undefined && { country: change.country }),
    ...(change.zipcode !== undefined && { zipcode: change.zipcode }),
  };
  if (Object.keys(set).length > 0) await db.updateTable("users").set(set).where("id", "=", id).execute();
}

// ---- accounts

export async function insertAccount(
  db: AccountsExecutor,
  { id, name, type, settings, createdAt }: Account,
): Promise<void> {
  await db
    .insertInto("accounts")
    .values({ id, name, type, settings: JSON.stringify(settings), created_at: createdAt })
    .execute();
}

export async function updateAccount(db: AccountsExecutor, { id, name, type, settings }: Account): Promise<void> {
  await db
    .updateTable("accounts")
    .set({ name, type, settings: JSON.stringify(settings) })
    .where("id", "=", id)
    .execute();
}

export async function deleteAccount(db: AccountsExecutor, id: string): Promise<void> {
  await db.deleteFrom("accounts").where("id", "=", id).execute();
}

export async function findAccount(db: AccountsExecutor, id: string): Promise<Account | undefined> {
  const row = await db.selectFrom("accounts").selectAll().where("id", "=", id).executeTakeFirst();
  return row && toAccount(row);
}

/** Resolves with the oldest account: the one created during the first run, unless it has been deleted. */
export async function firstAccount(db: AccountsExecutor): Promise<Account | undefined> {
  const row = await db
    .selectFrom("accounts")
    .selectAll()
    .orderBy("created_at")
    .orderBy("id")
    .limit(1)
    .executeTakeFirst();
  return row && toAccount(row);
}

/** The order of the results is undefined. */
export async function findAccounts(db: AccountsExecutor, ids: readonly string[], name?: string): Promise<Account[]> {
  if (ids.length === 0) return [];
  let query = db.selectFrom("accounts").selectAll().where("id", "in", ids);
  if (name !== undefined) query = query.where("name", "=", name);
  return (await query.execute()).map(toAccount);
}

export async function otherAccountExists(db: AccountsExecutor, id: string): Promise<boolean> {
  return (await db.selectFrom("accounts").select("id").where("id", "!=", id).limit(1).executeTakeFirst()) !== undefined;
}

// ---- memberships

export async function insertMembership(
  db: AccountsExecutor,
  { id, user, account, status, role, createdAt }: Membership,
): Promise<void> {
  await db
    .insertInto("memberships")
    .values({ id, user_id: user, account_id: account, status, role, created_at: createdAt })
    .execute();
}

export async function findMembership(db: AccountsExecutor, user: string, id: string): Promise<Membership | undefined> {
  const row = await db
    .selectFrom("memberships")
    .selectAll()
    .where("id", "=", id)
    .where("user_id", "=", user)
    .executeTakeFirst();
  return row && toMembership(row);
}

export async function setMembershipStatus(db: AccountsExecutor, id: string, status: MembershipStatus): Promise<void> {
  await db.updateTable("memberships").set({ status }).where("id", "=", id).execute();
}

export async function deleteMembership(db: AccountsExecutor, id: string): Promise<void> {
  await db.deleteFrom("memberships").where("id", "=", id).execute();
}

export async function deleteMembershipsOf(db: AccountsExecutor, account: string): Promise<void> {
  await db.deleteFrom("memberships").where("account_id", "=", account).execute();
}

/** True if the account has another administrator. */
export async function otherAdministratorExists(
  db: AccountsExecutor,
  { id, account }: Pick<Membership, "id" | "account">,
): Promise<boolean> {
  return (
    (await db
      .selectFrom("memberships")
      .select("id")
      .where("account_id", "=", account)
      .where("id", "!=", id)
      .where("status", "=", "accepted")
      .where("role", "=", "administrator" satisfies Role)
      .limit(1)
      .executeTakeFirst()) !== undefined
  );
}

/** Accounts that a user can access, with the user's role, ordered by membership, oldest first. */
export async function rolesOfUser(db: AccountsExecutor, user: string): Promise<Map<string, Role>> {
  const rows = await db
    .selectFrom("memberships")
    .select(["account_id", "role"])
    .where("user_id", "=", user)
    .where("status", "=", "accepted")
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  return new Map(rows.map(({ account_id, role }) => [account_id, role as Role]));
}

export async function countMemberships(db: AccountsExecutor, user: string): Promise<number> {
  const { count } = await db
    .selectFrom("memberships")
    .select(db.fn.countAll().as("count"))
    .where("user_id", "=", user)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export interface MembershipQuery {
  accountName?: string | undefined;
  status?: MembershipStatus | undefined;
  order?: "id" | "account.name" | "status" | undefined;
  direction?: "asc" | "desc" | undefined;
}

/** Memberships of one user, each with its account. The caller bounds the number of accounts per user. */
export async function listMemberships(
  db: AccountsExecutor,
  user: string,
  { accountName, status, order, direction = "asc" }: MembershipQuery,
  { limit, offset }: { limit: number; offset: number },
): Promise<{ rows: { membership: Membership; account: Account }[]; total: number }> {
  let query = db
    .selectFrom("memberships")
    .innerJoin("accounts", "accounts.id", "memberships.account_id")
    .where("memberships.user_id", "=", user);
  if (accountName !== undefined) query = query.where("accounts.name", "=", accountName);
  if (status !== undefined) query = query.where("memberships.status", "=", status);
  const { total } = await query.select(sql<number>`count(*)`.as("total")).executeTakeFirstOrThrow();
  let sortedQuery = query.select([
    "memberships.id",
    "memberships.user_id",
    "memberships.account_id",
    "memberships.status",
    "memberships.role",
    "memberships.created_at",
    "accounts.name",
    "accounts.type",
    "accounts.settings",
    "accounts.created_at as account_created_at",
  ]);
  if (order === "account.name") sortedQuery = sortedQuery.orderBy("accounts.name", direction);
  if (order === "status") sortedQuery = sortedQuery.orderBy("memberships.status", direction);
  if (order === undefined) sortedQuery = sortedQuery.orderBy("memberships.created_at", direction);
  const rows = await sortedQuery.orderBy("memberships.id", direction).limit(limit).offset(offset).execute();
  return {
    total: Number(total),
    rows: rows.map((row) => ({
      membership: toMembership(row),
      account: toAccount({
        id: row.account_id,
        name: row.name,
        type: row.type,
        settings: row.settings,
        created_at: row.account_created_at,
      }),
    })),
  };
}

const toUser = (row: AccountTables["users"]): User => ({
  id: row.id,
  email: row.email,
  firstName: row.first_name,
  lastName: row.last_name,
  telephone: row.telephone,
  country: row.country,
  zipcode: row.zipcode,
  hasGlobalKey: row.global_key_hash !== null,
  createdAt: row.created_at,
});

const toAccount = (row: AccountTables["accounts"]): Account => ({
  id: row.id,
  name: row.name,
  type: row.type as Account["type"],
  settings: JSON.parse(row.settings) as Account["settings"],
  createdAt: row.created_at,
});

const toMembership = (row: AccountTables["memberships"]): Membership => ({
  id: row.id,
  user: row.user_id,
  account: row.account_id,
  status: row.status as MembershipStatus,
  role: row.role as Role,
  createdAt: row.created_at,
});
