/** Whose token it is: it is managed there, and it never reaches what its owner does not. */
export type TokenOwner = { user: string } | { account: string };

/** As the v4 API writes it, and as it is stored. */
export interface Policy {
  id: string;
  effect: "allow" | "deny";
  /** Ids of permission groups. */
  groups: string[];
  /** `{ "com.cloudflare.api.account.<id>": "*" }`, or nested: `{ "com.cloudflare.api.account.<id>": { "com.cloudflare.api.account.zone.*": "*" } }`. */
  resources: Resources;
}

export type Resources = Record<string, string | Record<string, string>>;

/** Addresses or CIDR blocks, IPv4 and IPv6. */
export interface IpCondition {
  in?: string[];
  notIn?: string[];
}

export type TokenStatus = "active" | "disabled" | "expired";

export interface Token {
  /** 32 hex digits. */
  id: string;
  owner: TokenOwner;
  /** The user who made it. */
  createdBy: string;
  name: string;
  /** "expired" as soon as `expiresAt` has passed, unless it is "disabled" anyway. */
  status: TokenStatus;
  policies: Policy[];
  ip: IpCondition | null;
  /** All times are epoch milliseconds. */
  notBefore: number | null;
  expiresAt: number | null;
  issuedAt: number;
  modifiedAt: number;
  lastUsedAt: number | null;
}

/**
 * What a person says of a token they make or change. A change replaces all of it, but for `status`, which stays when absent;
 * "expired" is what it is read back as, and says nothing.
 */
export interface TokenRequest {
  name: string;
  policies: { id?: string | undefined; effect: "allow" | "deny"; groups: string[]; resources: Resources }[];
  status?: TokenStatus | undefined;
  ip?: IpCondition | null | undefined;
  notBefore?: number | null | undefined;
  expiresAt?: number | null | undefined;
}
