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
}

export type AccountsExecutor = Kysely<AccountTables>;
