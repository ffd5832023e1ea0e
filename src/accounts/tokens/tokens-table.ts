import type { Expression, SqlBool } from "kysely";
import type { AccountTables, AccountsExecutor } from "../tables.ts";
import type { TokenValueColumns } from "./value.ts";
import type { IpCondition, Policy, Token, TokenOwner } from "./types.ts";

type Row = AccountTables["tokens"];

export async function insertToken(db: AccountsExecutor, token: Token, value: TokenValueColumns): Promise<void> {
  await db
    .insertInto("tokens")
    .values({
      ...toChangeableColumns(token),
      id: token.id,
      user_id: "user" in token.owner ? token.owner.user : null,
      account_id: "account" in token.owner ? token.owner.account : null,
      created_by: token.createdBy,
      value_hash: value.hash,
      s3_secret: value.s3Secret,
      issued_at: token.issuedAt,
      last_used_at: null,
    })
    .execute();
}

export async function updateToken(db: AccountsExecutor, token: Token): Promise<void> {
  await db.updateTable("tokens").set(toChangeableColumns(token)).where("id", "=", token.id).execute();
}

export async function setTokenValue(
  db: AccountsExecutor,
  id: string,
  value: TokenValueColumns,
  modifiedAt: number,
): Promise<void> {
  await db
    .updateTable("tokens")
    .set({ value_hash: value.hash, s3_secret: value.s3Secret, modified_at: modifiedAt })
    .where("id", "=", id)
    .execute();
}

/** Resolves with the encrypted S3 secret of a token. Null if the token has none yet. */
export async function findS3Secret(db: AccountsExecutor, id: string): Promise<string | null | undefined> {
  return (await db.selectFrom("tokens").select("s3_secret").where("id", "=", id).executeTakeFirst())?.s3_secret;
}

/** Sets the S3 secret of a token created before tokens had one. No-op if the token's value has changed since. */
export async function setS3Secret(
  db: AccountsExecutor,
  id: string,
  { hash, s3Secret }: TokenValueColumns,
): Promise<void> {
  await db
    .updateTable("tokens")
    .set({ s3_secret: s3Secret })
    .where("id", "=", id)
    .where("value_hash", "=", hash)
    .execute();
}

export async function deleteToken(db: AccountsExecutor, id: string): Promise<void> {
  await db.deleteFrom("tokens").where("id", "=", id).execute();
}

/** Resolves with the ids of the deleted tokens. */
export async function deleteTokensOf(db: AccountsExecutor, account: string): Promise<string[]> {
  return (await db.deleteFrom("tokens").where("account_id", "=", account).returning("id").execute()).map(
    ({ id }) => id,
  );
}

/** Sets `lastUsed` by token id. An older time never replaces a newer one. */
export async function setLastUsed(db: AccountsExecutor, lastUsed: ReadonlyMap<string, number>): Promise<void> {
  for (const [id, at] of lastUsed) {
    await db
      .updateTable("tokens")
      .set({ last_used_at: at })
      .where("id", "=", id)
      .where(({ eb, or }) => or([eb("last_used_at", "is", null), eb("last_used_at", "<", at)]))
      .execute();
  }
}

export async function findToken(db: AccountsExecutor, id: string, now: number): Promise<Token | undefined> {
  const row = await db.selectFrom("tokens").selectAll().where("id", "=", id).executeTakeFirst();
  return row && toToken(row, now);
}

export async function findTokenByHash(
  db: AccountsExecutor,
  valueHash: string,
  now: number,
): Promise<Token | undefined> {
  const row = await db.selectFrom("tokens").selectAll().where("value_hash", "=", valueHash).executeTakeFirst();
  return row && toToken(row, now);
}

export async function countTokens(db: AccountsExecutor, owner: TokenOwner): Promise<number> {
  const { count } = await tokensOf(db, owner).select(db.fn.countAll().as("count")).executeTakeFirstOrThrow();
  return Number(count);
}

/** Lists tokens, oldest first unless `direction` is given. Expired tokens are included only on request. */
export async function listTokens(
  db: AccountsExecutor,
  owner: TokenOwner,
  {
    now,
    includeExpired,
    direction,
    limit,
    offset,
  }: { now: number; includeExpired: boolean; direction: "asc" | "desc"; limit: number; offset: number },
): Promise<{ tokens: Token[]; total: number }> {
  let query = tokensOf(db, owner);
  if (!includeExpired)
    query = query.where(({ eb, or }): Expression<SqlBool> =>
      or([eb("expires_at", "is", null), eb("expires_at", ">", now)]),
    );
  const { count } = await query.select(db.fn.countAll().as("count")).executeTakeFirstOrThrow();
  const rows = await query
    .selectAll()
    .orderBy("issued_at", direction)
    .orderBy("id", direction)
    .limit(limit)
    .offset(offset)
    .execute();
  return { tokens: rows.map((row) => toToken(row, now)), total: Number(count) };
}

const tokensOf = (db: AccountsExecutor, owner: TokenOwner) =>
  "user" in owner
    ? db.selectFrom("tokens").where("user_id", "=", owner.user)
    : db.selectFrom("tokens").where("account_id", "=", owner.account);

const toChangeableColumns = (token: Token) => ({
  name: token.name,
  status: token.status === "disabled" ? "disabled" : "active",
  policies: JSON.stringify(token.policies),
  request_ip: token.ip === null ? null : JSON.stringify(token.ip),
  not_before: token.notBefore,
  expires_at: token.expiresAt,
  modified_at: token.modifiedAt,
});

const toToken = (row: Row, now: number): Token => ({
  id: row.id,
  owner: row.account_id === null ? { user: row.user_id! } : { account: row.account_id },
  createdBy: row.created_by,
  name: row.name,
  status:
    row.status === "disabled" ? "disabled" : row.expires_at !== null && row.expires_at <= now ? "expired" : "active",
  policies: JSON.parse(row.policies) as Policy[],
  ip: row.request_ip === null ? null : (JSON.parse(row.request_ip) as IpCondition),
  notBefore: row.not_before,
  expiresAt: row.expires_at,
  issuedAt: row.issued_at,
  modifiedAt: row.modified_at,
  lastUsedAt: row.last_used_at,
});
