import { sql } from "kysely";
import type { Migration } from "../../store/index.ts";
import type { Role } from "../roles.ts";
import type { AccountsExecutor, AccountTables } from "../tables.ts";
import type { Account, MembershipStatus } from "../types.ts";
import type { Member, MemberQuery, ReceivedInvitation } from "./types.ts";

export const membersMigrations: Migration[] = [
  {
    name: "accounts-members-001",
    async up(db, types) {
      const key = sql.raw(types.keyText);
      await db.schema
        .createTable("invitations")
        .addColumn("membership_id", key, (column) => column.primaryKey())
        .addColumn("secret_hash", key, (column) => column.notNull().unique())
        .addColumn("invited_by", "text", (column) => column.notNull())
        // 1: the user was created by this invitation, and is deleted with it unless it is accepted.
        .addColumn("creates_user", "integer", (column) => column.notNull())
        .addColumn("sent_at", "bigint", (column) => column.notNull())
        .addColumn("expires_at", "bigint", (column) => column.notNull())
        .execute();
    },
  },
];

export interface InvitationRow {
  membershipId: string;
  secretHash: string;
  invitedBy: string;
  createsUser: boolean;
  sentAt: number;
  expiresAt: number;
}

/** Replaces an earlier invitation of the membership, whose secret becomes invalid. */
export async function upsertInvitation(db: AccountsExecutor, row: InvitationRow): Promise<void> {
  const columns = {
    secret_hash: row.secretHash,
    invited_by: row.invitedBy,
    creates_user: row.createsUser ? 1 : 0,
    sent_at: row.sentAt,
    expires_at: row.expiresAt,
  };
  await db
    .insertInto("invitations")
    .values({ membership_id: row.membershipId, ...columns })
    .onConflict((conflict) => conflict.column("membership_id").doUpdateSet(columns))
    .execute();
}

export async function findInvitation(db: AccountsExecutor, membership: string): Promise<InvitationRow | undefined> {
  const row = await db.selectFrom("invitations").selectAll().where("membership_id", "=", membership).executeTakeFirst();
  return row && toInvitation(row);
}

export async function findInvitationBySecret(db: AccountsExecutor, hash: string): Promise<InvitationRow | undefined> {
  const row = await db.selectFrom("invitations").selectAll().where("secret_hash", "=", hash).executeTakeFirst();
  return row && toInvitation(row);
}

export async function deleteInvitation(db: AccountsExecutor, membership: string): Promise<void> {
  await db.deleteFrom("invitations").where("membership_id", "=", membership).execute();
}

/** Deletes the invitations of an account; call it before its memberships are deleted. */
export async function deleteInvitationsTo(db: AccountsExecutor, account: string): Promise<void> {
  await db
    .deleteFrom("invitations")
    .where("membership_id", "in", (memberships) =>
      memberships.selectFrom("memberships").select("id").where("account_id", "=", account),
    )
    .execute();
}

export async function countMembers(db: AccountsExecutor, account: string): Promise<number> {
  const { count } = await db
    .selectFrom("memberships")
    .select(db.fn.countAll().as("count"))
    .where("account_id", "=", account)
    .executeTakeFirstOrThrow();
  return Number(count);
}

export async function findMembershipIdOf(
  db: AccountsExecutor,
  account: string,
  user: string,
): Promise<{ id: string; status: MembershipStatus } | undefined> {
  const row = await db
    .selectFrom("memberships")
    .select(["id", "status"])
    .where("account_id", "=", account)
    .where("user_id", "=", user)
    .executeTakeFirst();
  return row && { id: row.id, status: row.status as MembershipStatus };
}

export async function updateMembership(
  db: AccountsExecutor,
  id: string,
  { role, status }: { role?: Role; status?: MembershipStatus },
): Promise<void> {
  await db
    .updateTable("memberships")
    .set({ ...(role !== undefined && { role }), ...(status !== undefined && { status }) })
    .where("id", "=", id)
    .execute();
}

/** Deletes a user that has no memberships, tokens or global key. */
export async function deleteUnusedUser(db: AccountsExecutor, id: string): Promise<void> {
  await db
    .deleteFrom("users")
    .where("id", "=", id)
    .where("global_key_hash", "is", null)
    .where(({ not, exists, selectFrom }) =>
      not(exists(selectFrom("memberships").select("id").where("user_id", "=", id))),
    )
    .where(({ not, exists, selectFrom }) => not(exists(selectFrom("tokens").select("id").where("created_by", "=", id))))
    .execute();
}

const members = (db: AccountsExecutor) =>
  db
    .selectFrom("memberships")
    .innerJoin("users", "users.id", "memberships.user_id")
    .leftJoin("invitations", "invitations.membership_id", "memberships.id")
    .select([
      "memberships.id",
      "memberships.account_id",
      "memberships.status",
      "memberships.role",
      "users.id as user_id",
      "users.email",
      "users.first_name",
      "users.last_name",
      "invitations.invited_by",
      "invitations.sent_at",
      "invitations.expires_at",
    ]);

export async function findMember(db: AccountsExecutor, account: string, id: string): Promise<Member | undefined> {
  const row = await members(db)
    .where("memberships.id", "=", id)
    .where("memberships.account_id", "=", account)
    .executeTakeFirst();
  return row && toMember(row);
}

const ORDER_COLUMNS = {
  "user.first_name": "users.first_name",
  "user.last_name": "users.last_name",
  "user.email": "users.email_key",
  status: "memberships.status",
} as const;

/** The caller bounds the number of members per account. */
export async function listMembers(
  db: AccountsExecutor,
  account: string,
  { status, order, direction = "asc" }: MemberQuery,
  { limit, offset }: { limit: number; offset: number },
): Promise<Member[]> {
  const rows = await members(db)
    .where("memberships.account_id", "=", account)
    .$if(status !== undefined, (some) => some.where("memberships.status", "=", status!))
    .orderBy(order === undefined ? "memberships.created_at" : ORDER_COLUMNS[order], direction)
    .orderBy("memberships.id", direction)
    .limit(limit)
    .offset(offset)
    .execute();
  return rows.map(toMember);
}

export async function countMembersWith(
  db: AccountsExecutor,
  account: string,
  { status }: Pick<MemberQuery, "status">,
): Promise<number> {
  const { count } = await db
    .selectFrom("memberships")
    .select(db.fn.countAll().as("count"))
    .where("account_id", "=", account)
    .$if(status !== undefined, (some) => some.where("status", "=", status!))
    .executeTakeFirstOrThrow();
  return Number(count);
}

const received = (db: AccountsExecutor) =>
  db
    .selectFrom("invitations")
    .innerJoin("memberships", "memberships.id", "invitations.membership_id")
    .innerJoin("accounts", "accounts.id", "memberships.account_id")
    .innerJoin("users", "users.id", "memberships.user_id")
    .select([
      "memberships.id",
      "memberships.role",
      "users.id as user_id",
      "users.email",
      "accounts.id as account_id",
      "accounts.name",
      "accounts.settings",
      "invitations.invited_by",
      "invitations.sent_at",
      "invitations.expires_at",
    ])
    .where("memberships.status", "=", "pending");

/** Resolves with at most `limit` pending invitations of a user, newest first. */
export async function invitationsOfUser(
  db: AccountsExecutor,
  user: string,
  limit: number,
): Promise<ReceivedInvitation[]> {
  const rows = await received(db)
    .where("memberships.user_id", "=", user)
    .orderBy("invitations.sent_at", "desc")
    .orderBy("memberships.id")
    .limit(limit)
    .execute();
  return rows.map(toReceived);
}

export async function findReceivedInvitation(
  db: AccountsExecutor,
  membership: string,
): Promise<ReceivedInvitation | undefined> {
  const row = await received(db).where("memberships.id", "=", membership).executeTakeFirst();
  return row && toReceived(row);
}

const toInvitation = (row: AccountTables["invitations"]): InvitationRow => ({
  membershipId: row.membership_id,
  secretHash: row.secret_hash,
  invitedBy: row.invited_by,
  createsUser: row.creates_user === 1,
  sentAt: row.sent_at,
  expiresAt: row.expires_at,
});

type MemberRow = Awaited<ReturnType<ReturnType<typeof members>["executeTakeFirstOrThrow"]>>;

const toMember = (row: MemberRow): Member => ({
  id: row.id,
  account: row.account_id,
  user: {
    id: row.user_id,
    email: row.email,
    firstName: row.status === "accepted" ? row.first_name : null,
    lastName: row.status === "accepted" ? row.last_name : null,
  },
  role: row.role as Role,
  status: row.status as MembershipStatus,
  ...(row.status === "pending" &&
    row.sent_at !== null && {
      invitation: { invitedBy: row.invited_by!, sentAt: row.sent_at, expiresAt: row.expires_at! },
    }),
});

type ReceivedRow = Awaited<ReturnType<ReturnType<typeof received>["executeTakeFirstOrThrow"]>>;

const toReceived = (row: ReceivedRow): ReceivedInvitation => ({
  id: row.id,
  user: { id: row.user_id, email: row.email },
  account: {
    id: row.account_id,
    name: row.name,
    enforceTwofactor: (JSON.parse(row.settings) as Account["settings"]).enforceTwofactor,
  },
  role: row.role as Role,
  invitedBy: row.invited_by,
  sentAt: row.sent_at,
  expiresAt: row.expires_at,
});
