import type { Caller } from "../accounts/index.ts";

/** Authentication and resource lookups that the API needs from the accounts and zones domains. */
export interface AccessControl {
  /**
   * Resolves with the caller identified by `Authorization: Bearer` or the X-Auth headers; undefined if the token is
   * unknown, revoked or expired. Throws a UserError for a more specific reason, such as a disallowed address. Called
   * for every request.
   */
  authenticate(credentials: Credentials): Promise<Caller | undefined>;
  /** True if the token is cached as valid. By default always false. */
  isKnown?(secret: string): boolean;
  accountExists(id: string): Promise<boolean>;
  /** Resolves with the account of a zone, or undefined if the zone does not exist. */
  zoneAccount(id: string): Promise<string | undefined>;
  /** The same from memory, for repeated reads; undefined if the functions above have to decide. Default: they always do. */
  cached?: {
    authenticate(credentials: Pick<Credentials, "secret" | "ip">): Caller | undefined;
    zoneAccount(id: string): string | undefined;
  };
}

export interface Credentials {
  /** A token, or the key that belongs to `email`. */
  secret: string;
  /** Present only with X-Auth-Email and X-Auth-Key. */
  email?: string;
  ip?: string;
}
