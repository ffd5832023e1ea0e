export type { AccountContents, AccountRequest, Accounts } from "./accounts.ts";
export type { Caller, Permission, PermissionArea, Resource } from "./caller.ts";
export { createAccounts, type AccountsOptions, type AccountsModule } from "./create.ts";
export { accountErrors } from "./errors.ts";
export { accountsMigrations } from "./migrations.ts";
export type { Memberships, MembershipWithAccount } from "./memberships.ts";
export {
  findPermissionGroups,
  permissionGroup,
  permissionGroups,
  SCOPE_NAMES,
  type PermissionGroup,
  type Scope,
} from "./tokens/permission-groups.ts";
export type { Tokens } from "./tokens/tokens.ts";
export type { IpCondition, Policy, Resources, Token, TokenOwner, TokenRequest, TokenStatus } from "./tokens/types.ts";
export {
  DEFAULT_ACCOUNT_LIMITS,
  type Account,
  type AccountLimits,
  type Membership,
  type MembershipStatus,
  type User,
} from "./types.ts";
export type { UserChange, Users } from "./users.ts";
