import type { AccountTables, AccountsExecutor } from "../tables.ts";

export interface Passkey {
  /** 32 hex digits. */
  id: string;
  user: string;
  /** Base64url, assigned by the authenticator. */
  credentialId: string;
  /** The host name of the dashboard for which it was created. */
  rpId: string;
  /** COSE key in base64url. */
  publicKey: string;
  counter: number;
  transports: string[];
  name: string;
  /** True if the authenticator copies it to other devices of the user. */
  synced: boolean;
  createdAt: number;
  lastUsedAt: number | null;
}

export async function insertPasskey(db: AccountsExecutor, passkey: Passkey): Promise<void> {
  await db
    .insertInto("passkeys")
    .values({
      id: passkey.id,
      user_id: passkey.user,
      credential_id: passkey.credentialId,
      rp_id: passkey.rpId,
      public_key: passkey.publicKey,
      counter: passkey.counter,
      transports: JSON.stringify(passkey.transports),
      name: passkey.name,
      synced: passkey.synced ? 1 : 0,
      created_at: passkey.createdAt,
      last_used_at: passkey.lastUsedAt,
    })
    .execute();
}

/** Resolves with the passkeys of a user, oldest first. Their number is bounded. */
export async function passkeysOfUser(db: AccountsExecutor, user: string): Promise<Passkey[]> {
  const rows = await db
    .selectFrom("passkeys")
    .selectAll()
    .where("user_id", "=", user)
    .orderBy("created_at")
    .orderBy("id")
    .execute();
  return rows.map(toPasskey);
}

export async function findPasskeyByCredential(
  db: AccountsExecutor,
  credentialId: string,
): Promise<Passkey | undefined> {
  // PostgreSQL rejects U+0000 in text.
  if (!/^[\w-]+$/.test(credentialId)) return undefined;
  const row = await db.selectFrom("passkeys").selectAll().where("credential_id", "=", credentialId).executeTakeFirst();
  return row && toPasskey(row);
}

export async function updatePasskey(
  db: AccountsExecutor,
  { id, name, counter, lastUsedAt, synced }: Passkey,
): Promise<void> {
  await db
    .updateTable("passkeys")
    .set({ name, counter, last_used_at: lastUsedAt, synced: synced ? 1 : 0 })
    .where("id", "=", id)
    .execute();
}

export async function deletePasskey(db: AccountsExecutor, id: string): Promise<void> {
  await db.deleteFrom("passkeys").where("id", "=", id).execute();
}

const toPasskey = (row: AccountTables["passkeys"]): Passkey => ({
  id: row.id,
  user: row.user_id,
  credentialId: row.credential_id,
  rpId: row.rp_id,
  publicKey: row.public_key,
  counter: row.counter,
  transports: JSON.parse(row.transports) as string[],
  name: row.name,
  synced: row.synced === 1,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
});
