import type { Caller } from "../accounts/index.ts";

/** Authentication and resource lookups that the API needs from accounts and zones. */
export interface Gate {
  /**
   * The caller behind `Authorization: Bearer` or the X-Auth headers; undefined if the token is unknown, revoked or
   * expired. Throws a UserError with a specific reason, such as a disallowed address. Called for every request.
   */
  authenticate(credentials: Credentials): Promise<Caller | undefined>;
  /** True if the token is cached as valid. Default: always false. */
  isKnown?(secret: string): boolean;
  accountExists(id: string): Promise<boolean>;
  /** The account of a zone, or undefined if there is no such zone. */
  zoneAccount(id: string): Promise<string | undefined>;
}

export interface Credentials {
  /** A token, or the key that belongs to `email`. */
  secret: string;
  /** Only with X-Auth-Email and X-Auth-Key. */
  email?: string;
  ip?: string;
}
