import type { AccountTables, AccountsExecutor } from "../tables.ts";
import type { Session, SignInMethod } from "./types.ts";

export async function insertSession(db: AccountsExecutor, session: Session, secretHash: string): Promise<void> {
  await db
    .insertInto("sessions")
    .values({
      id: session.id,
      user_id: session.user,
      secret_hash: secretHash,
      method: session.method,
      two_factor: session.twoFactor ? 1 : 0,
      created_at: session.createdAt,
      last_used_at: session.lastUsedAt,
      expires_at: session.expiresAt,
      ip: session.ip,
      user_agent: session.userAgent,
    })
    .execute();
}

export async function findSession(db: AccountsExecutor, id: string): Promise<Session | undefined> {
  const row = await db.selectFrom("sessions").selectAll().where("id", "=", id).executeTakeFirst();
  return row && toSession(row);
}

export async function findSessionByHash(db: AccountsExecutor, secretHash: string): Promise<Session | undefined> {
  const row = await db.selectFrom("sessions").selectAll().where("secret_hash", "=", secretHash).executeTakeFirst();
  return row && toSession(row);
}

/** Resolves with the sessions of a user, newest first. Their number is bounded. */
export async function sessionsOfUser(db: AccountsExecutor, user: string): Promise<Session[]> {
  const rows = await db
    .selectFrom("sessions")
    .selectAll()
    .where("user_id", "=", user)
    .orderBy("created_at", "desc")
    .orderBy("id")
    .execute();
  return rows.map(toSession);
}

export async function deleteSessions(db: AccountsExecutor, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await db.deleteFrom("sessions").where("id", "in", ids).execute();
}

/** Deletes sessions of all users that ended before `now`, or were last used before `lastUse`. */
export async function deleteEndedSessions(
  db: AccountsExecutor,
  { now, lastUse }: { now: number; lastUse: number },
): Promise<void> {
  await db.deleteFrom("sessions").where("expires_at", "<=", now).execute();
  await db.deleteFrom("sessions").where("last_used_at", "<=", lastUse).execute();
}

export interface SessionUse {
  at: number;
  ip: string | null;
}

export async function setSessionUses(db: AccountsExecutor, uses: ReadonlyMap<string, SessionUse>): Promise<void> {
  for (const [id, { at, ip }] of uses)
    await db
      .updateTable("sessions")
      .set({ last_used_at: at, ip })
      .where("id", "=", id)
      .where("last_used_at", "<", at)
      .execute();
}

const toSession = (row: AccountTables["sessions"]): Session => ({
  id: row.id,
  user: row.user_id,
  method: row.method as SignInMethod,
  twoFactor: row.two_factor === 1,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
  ip: row.ip,
  userAgent: row.user_agent,
});
