import type { Kysely } from "kysely";

/** Tables of the accounts domain. */
export interface AccountTables {
  users: {
    id: string;
    email: string;
    /** Lower-case copy for comparison. */
    email_key: string;
    first_name: string | null;
    last_name: string | null;
    telephone: string | null;
    country: string | null;
    zipcode: string | null;
    global_key_hash: string | null;
    created_at: number;
  };
  accounts: { id: string; name: string; type: string; /** JSON. */ settings: string; created_at: number };
  memberships: {
    id: string;
    user_id: string;
    account_id: string;
    status: string;
    role: string;
    created_at: number;
  };
  /** Pending memberships that were invited by email. */
  invitations: {
    membership_id: string;
    secret_hash: string;
    invited_by: string;
    /** 1: the invitation created the user. */
    creates_user: number;
    sent_at: number;
    expires_at: number;
  };
  tokens: {
    id: string;
    user_id: string | null;
    account_id: string | null;
    created_by: string;
    name: string;
    value_hash: string;
    /** Encrypted. */
    s3_secret: string | null;
    status: string;
    /** JSON. */
    policies: string;
    /** JSON. */
    request_ip: string | null;
    not_before: number | null;
    expires_at: number | null;
    issued_at: number;
    modified_at: number;
    last_used_at: number | null;
  };
  sessions: {
    id: string;
    user_id: string;
    secret_hash: string;
    method: string;
    two_factor: number;
    created_at: number;
    last_used_at: number;
    expires_at: number;
    ip: string | null;
    user_agent: string | null;
  };
  sign_in_links: {
    secret_hash: string;
    user_id: string;
    /** 1: the link replaces the second factor, too. */
    skips_two_factor: number;
    expires_at: number;
  };
  user_passwords: {
    user_id: string;
    /** The parameters of scrypt, the salt and the key. */ hash: string;
    changed_at: number;
  };
  user_totp: {
    user_id: string;
    /** Encrypted. */
    secret: string;
    /** Null until the user has entered a first code. */
    confirmed_at: number | null;
    /** The time step of the last accepted code. */
    last_step: number;
  };
  recovery_codes: { user_id: string; code_hash: string };
  passkeys: {
    id: string;
    user_id: string;
    credential_id: string;
    /** The host name for which the passkey was created. */
    rp_id: string;
    /** COSE, in base64url. */
    public_key: string;
    counter: number;
    /** JSON. */
    transports: string;
    name: string;
    synced: number;
    created_at: number;
    last_used_at: number | null;
  };
  used_challenges: { challenge_hash: string; expires_at: number };
}

export type AccountsExecutor = Kysely<AccountTables>;
