import type { Role } from "./roles.ts";

/** Ids are 32 hex digits; times are in milliseconds since the Unix epoch. */
export interface User {
  id: string;
  email: string;
  firstName: string | null;
  lastName: string | null;
  telephone: string | null;
  country: string | null;
  zipcode: string | null;
  hasGlobalKey: boolean;
  createdAt: number;
}

export interface Account {
  id: string;
  name: string;
  type: "standard" | "enterprise";
  settings: { abuseContactEmail?: string; enforceTwofactor: boolean };
  createdAt: number;
}

export type MembershipStatus = "accepted" | "pending" | "rejected";

/** A user's membership in an account, with the permissions of a role. A token is further limited by its policies. */
export interface Membership {
  id: string;
  user: string;
  account: string;
  status: MembershipStatus;
  role: Role;
  createdAt: number;
}

export interface AccountLimits {
  /** Maximum number of tokens per user, including expired and disabled ones. */
  userTokens: number;
  /** Maximum number of tokens per account. */
  accountTokens: number;
  /** Maximum number of accounts per user. */
  accounts: number;
  /** Maximum number of members per account, including pending invitations. */
  members: number;
}

/** Limits of the hosted service, where it has one. */
export const DEFAULT_ACCOUNT_LIMITS: AccountLimits = {
  userTokens: 50,
  accountTokens: 500,
  accounts: 500,
  members: 1000,
};
