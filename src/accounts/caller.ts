/** The resource area of a permission group, with the names of the hosted service. */
export type PermissionArea =
  | "Account Settings"
  | "Account API Tokens"
  | "API Tokens"
  | "User Details"
  | "Memberships"
  | "Zone"
  | "DNS"
  | "Workers Scripts"
  | "Workers Routes"
  | "Workers Tail"
  | "Secrets Store"
  | "Workers KV Storage"
  | "Workers R2 Storage"
  | "Workers R2 Storage Bucket Item"
  | "D1"
  | "Email Routing Addresses"
  | "Email Routing Rules"
  | "Email Sending"
  | "Zone Settings"
  | "Account Analytics"
  | "AI Gateway"
  | "Stream";

/** Write includes Read, but not Run. */
export type Permission = `${PermissionArea} ${"Read" | "Write"}` | "AI Gateway Run";

/** The target of an operation: the user behind the token, one account, or one zone or R2 bucket in an account. */
export type Resource =
  | { user: true }
  | { account: string }
  | { zone: string; account: string }
  | { bucket: string; jurisdiction: string; account: string };

/** The client behind a request, as identified by its token or session. */
export interface Caller {
  /** 32 hex digits. For a session, the id of the session. */
  tokenId: string;
  /** Present only for a session: a user who signed in. */
  sessionId?: string;
  /**
   * Present only for a session without a second factor whose user is a member of an account that requires one. It
   * allows only reading and changing the user's own details, to set up the second factor.
   */
  secondFactorRequired?: true;
  user: { id: string; email: string };
  /** Accounts for which the token has any permission; "all" for all accounts of the user. */
  accounts: readonly string[];
  /** Zones for which a policy denies a permission. A permission for all zones of an account does not apply to them. */
  deniedZones?: readonly string[];
  allows(permission: Permission, on: Resource): boolean;
}
