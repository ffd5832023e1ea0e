import type { Caller } from "../accounts/index.ts";

/** What the API asks of accounts and zones to know who calls and what about. */
export interface Gate {
  /**
   * The caller behind `Authorization: Bearer` or the pair of X-Auth headers, or undefined when the token is unknown, revoked or
   * expired. Throws a UserError for what the caller should hear instead, as when the token is not valid from this address. Called for every request.
   */
  authenticate(credentials: Credentials): Promise<Caller | undefined>;
  /** True if the cache has the token as valid. Default: always false. */
  isKnown?(secret: string): boolean;
  accountExists(id: string): Promise<boolean>;
  /** The account of a zone, or undefined when there is no such zone. */
  zoneAccount(id: string): Promise<string | undefined>;
}

export interface Credentials {
  /** A token, or the key that goes with `email`. */
  secret: string;
  /** With X-Auth-Email and X-Auth-Key only. */
  email?: string;
  ip?: string;
}
