export type { AuditLog } from "./audit/audit-log.ts";
export type { AuditEntry, AuditEvent, AuditQuery } from "./audit/types.ts";
export type { AuditScope } from "./audit/audit-table.ts";
export type { AccountContents, Accounts } from "./accounts.ts";
export type { Caller, Permission, Resource } from "./caller.ts";
export { createAccounts, type AccountsModule } from "./create.ts";
export { accountErrors } from "./errors.ts";
export { accountsMigrations } from "./migrations.ts";
export { describeRole, roleAllows, roles, type Role, type RoleDescription } from "./roles.ts";
export type { Members } from "./members/members.ts";
export type { InvitationEmail, Member, ReceivedInvitation } from "./members/types.ts";
export type { Memberships, MembershipWithAccount } from "./memberships.ts";
export {
  findPermissionGroups,
  permissionGroup,
  permissionGroups,
  SCOPE_NAMES,
  type PermissionGroup,
} from "./tokens/permission-groups.ts";
export type { Session } from "./sessions/types.ts";
export { createLinkInDatabase } from "./sign-in/link-in-database.ts";
export type { Confirmation } from "./sign-in/confirmation.ts";
export type { Passkey } from "./sign-in/passkeys-table.ts";
export type { SignInSuccess, SignIn, SignInResult } from "./sign-in/sign-in.ts";
export type { Tokens } from "./tokens/tokens.ts";
export type { Token, TokenOwner, TokenRequest } from "./tokens/types.ts";
export { type Account, type User } from "./types.ts";
