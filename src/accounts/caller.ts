/** What a permission group allows to be done with; the words of the hosted service's permission groups. */
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
  | "Workers KV Storage"
  | "Workers R2 Storage"
  | "D1"
  | "Email Routing Addresses"
  | "Email Routing Rules"
  | "Email Sending"
  | "Zone Settings"
  | "Account Analytics"
  | "Stream";

/** Write includes Read. */
export type Permission = `${PermissionArea} ${"Read" | "Write"}`;

/** What an operation is about: the user behind the token, one account, or one zone of an account. */
export type Resource = { user: true } | { account: string } | { zone: string; account: string };

/** Who sends a request, as its token tells. */
export interface Caller {
  /** 32 hex digits. */
  tokenId: string;
  user: { id: string; email: string };
  /** Accounts of which the token reaches anything; "all" for those of the user. */
  accounts: readonly string[];
  /** Zones of which a policy denies something, whoever's they are: what may be done with all zones of an account may not be with these. */
  deniedZones?: readonly string[];
  allows(permission: Permission, on: Resource): boolean;
}
