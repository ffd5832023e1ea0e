/** Ids are 32 hex digits, times epoch milliseconds. */
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

/** A user in an account, with all rights in it: what a token may do there is what its policies say. */
export interface Membership {
  id: string;
  user: string;
  account: string;
  status: MembershipStatus;
  createdAt: number;
}

export interface AccountLimits {
  /** Of one user, expired and disabled ones included. */
  userTokens: number;
  /** Of one account. */
  accountTokens: number;
  /** That one user is a member of. */
  accounts: number;
}

/** Those of the hosted service, where it has one. */
export const DEFAULT_ACCOUNT_LIMITS: AccountLimits = { userTokens: 50, accountTokens: 500, accounts: 500 };
