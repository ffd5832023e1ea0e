import type { AccountsExecutor } from "../tables.ts";

// ---- links

interface SignInLinkRow {
  user: string;
  skipsTwoFactor: boolean;
  expiresAt: number;
}

export async function insertSignInLink(db: AccountsExecutor, hash: string, link: SignInLinkRow): Promise<void> {
  await db
    .insertInto("sign_in_links")
    .values({
      secret_hash: hash,
      user_id: link.user,
      skips_two_factor: link.skipsTwoFactor ? 1 : 0,
      expires_at: link.expiresAt,
    })
    .execute();
}

/** Deletes the link, so that of two concurrent sign-ins only one gets it. */
export async function takeSignInLink(db: AccountsExecutor, hash: string): Promise<SignInLinkRow | undefined> {
  const row = await db
    .deleteFrom("sign_in_links")
    .where("secret_hash", "=", hash)
    .returning(["user_id", "skips_two_factor", "expires_at"])
    .executeTakeFirst();
  return row && { user: row.user_id, skipsTwoFactor: row.skips_two_factor === 1, expiresAt: row.expires_at };
}

export async function deleteExpiredLinks(db: AccountsExecutor, now: number): Promise<void> {
  await db.deleteFrom("sign_in_links").where("expires_at", "<=", now).execute();
}

// ---- passwords

export async function findPassword(
  db: AccountsExecutor,
  user: string,
): Promise<{ hash: string; changedAt: number } | undefined> {
  const row = await db.selectFrom("user_passwords").selectAll().where("user_id", "=", user).executeTakeFirst();
  return row && { hash: row.hash, changedAt: row.changed_at };
}

export async function setPassword(
  db: AccountsExecutor,
  user: string,
  { hash, changedAt }: { hash: string; changedAt: number },
): Promise<void> {
  await db
    .insertInto("user_passwords")
    .values({ user_id: user, hash, changed_at: changedAt })
    .onConflict((conflict) => conflict.column("user_id").doUpdateSet({ hash, changed_at: changedAt }))
    .execute();
}

/** Replaces a hash with another one of the same password. */
export async function replacePasswordHash(
  db: AccountsExecutor,
  user: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await db
    .updateTable("user_passwords")
    .set({ hash: to })
    .where("user_id", "=", user)
    .where("hash", "=", from)
    .execute();
}

export async function deletePassword(db: AccountsExecutor, user: string): Promise<void> {
  await db.deleteFrom("user_passwords").where("user_id", "=", user).execute();
}

// ---- one-time codes

interface TotpRow {
  /** Encrypted. */
  secret: string;
  confirmedAt: number | null;
  lastStep: number;
}

export async function findTotp(db: AccountsExecutor, user: string): Promise<TotpRow | undefined> {
  const row = await db.selectFrom("user_totp").selectAll().where("user_id", "=", user).executeTakeFirst();
  return row && { secret: row.secret, confirmedAt: row.confirmed_at, lastStep: row.last_step };
}

/** Replaces a secret that is not confirmed. */
export async function setTotp(db: AccountsExecutor, user: string, secret: string): Promise<void> {
  const fresh = { secret, confirmed_at: null, last_step: 0 };
  await db
    .insertInto("user_totp")
    .values({ user_id: user, ...fresh })
    .onConflict((conflict) => conflict.column("user_id").doUpdateSet(fresh).where("user_totp.confirmed_at", "is", null))
    .execute();
}

export async function confirmTotp(db: AccountsExecutor, user: string, at: number): Promise<void> {
  await db.updateTable("user_totp").set({ confirmed_at: at }).where("user_id", "=", user).execute();
}

/** Returns false if a code of this time step or a later one was used before (RFC 6238 5.2). */
export async function useTotpStep(db: AccountsExecutor, user: string, step: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable("user_totp")
    .set({ last_step: step })
    .where("user_id", "=", user)
    .where("last_step", "<", step)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function deleteTotp(db: AccountsExecutor, user: string): Promise<void> {
  await db.deleteFrom("user_totp").where("user_id", "=", user).execute();
  await db.deleteFrom("recovery_codes").where("user_id", "=", user).execute();
}

export async function replaceRecoveryCodes(
  db: AccountsExecutor,
  user: string,
  hashes: readonly string[],
): Promise<void> {
  await db.deleteFrom("recovery_codes").where("user_id", "=", user).execute();
  await db
    .insertInto("recovery_codes")
    .values(hashes.map((hash) => ({ user_id: user, code_hash: hash })))
    .execute();
}

/** Deletes the code. Returns false if there is none. */
export async function takeRecoveryCode(db: AccountsExecutor, user: string, hash: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom("recovery_codes")
    .where("user_id", "=", user)
    .where("code_hash", "=", hash)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

export async function countRecoveryCodes(db: AccountsExecutor, user: string): Promise<number> {
  const { count } = await db
    .selectFrom("recovery_codes")
    .select(db.fn.countAll().as("count"))
    .where("user_id", "=", user)
    .executeTakeFirstOrThrow();
  return Number(count);
}

// ---- challenges

/** Returns false if the challenge was used before. */
export async function useChallenge(
  db: AccountsExecutor,
  hash: string,
  { now, expiresAt }: { now: number; expiresAt: number },
): Promise<boolean> {
  await db.deleteFrom("used_challenges").where("expires_at", "<=", now).execute();
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("used_challenges")
    .values({ challenge_hash: hash, expires_at: expiresAt })
    .onConflict((conflict) => conflict.column("challenge_hash").doNothing())
    .executeTakeFirst();
  return (numInsertedOrUpdatedRows ?? 0n) > 0n;
}
