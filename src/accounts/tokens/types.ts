/** The owner manages the token, and the token's permissions never exceed those of its owner. */
export type TokenOwner = { user: string } | { account: string };

/** The representation used in the v4 API and in the database. */
export interface Policy {
  id: string;
  effect: "allow" | "deny";
  /** Ids of permission groups. */
  groups: string[];
  /**
   * `{ "com.cloudflare.api.account.<id>": "*" }`, or nested: `{ "com.cloudflare.api.account.<id>": {
   * "com.cloudflare.api.account.zone.*": "*" } }`.
   */
  resources: Resources;
}

export type Resources = Record<string, string | Record<string, string>>;

/** Addresses or CIDR blocks, IPv4 and IPv6. */
export interface IpCondition {
  in?: string[];
  notIn?: string[];
}

type TokenStatus = "active" | "disabled" | "expired";

export interface Token {
  /** 32 hex digits. */
  id: string;
  owner: TokenOwner;
  /** The user who created it. */
  createdBy: string;
  name: string;
  /** "expired" once `expiresAt` has passed, unless "disabled". */
  status: TokenStatus;
  policies: Policy[];
  ip: IpCondition | null;
  /** All times are in milliseconds since the Unix epoch. */
  notBefore: number | null;
  expiresAt: number | null;
  issuedAt: number;
  modifiedAt: number;
  lastUsedAt: number | null;
}

/**
 * A request to create or replace a token. A replacement also resets omitted fields, except `status`. "expired" is a
 * derived status and is ignored.
 */
export interface TokenRequest {
  name: string;
  policies: { id?: string | undefined; effect: "allow" | "deny"; groups: string[]; resources: Resources }[];
  status?: TokenStatus | undefined;
  ip?: IpCondition | null | undefined;
  notBefore?: number | null | undefined;
  expiresAt?: number | null | undefined;
}
