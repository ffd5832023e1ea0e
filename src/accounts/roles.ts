import { createHash } from "node:crypto";
import type { Permission, PermissionArea } from "./caller.ts";
import { permissionGroups } from "./tokens/permission-groups.ts";

/** A role determines the permissions of a member in one account. */
export type Role = "administrator" | "editor" | "viewer";

export interface RoleDescription {
  /** 32 hex digits, the same on every server. */
  id: string;
  role: Role;
  /** The name in the v4 API. */
  name: string;
  description: string;
}

/** Returns the id of a role, derived from its name, so that configuration files can use the id on any server. */
const idOf = (role: Role) => createHash("sha256").update(`reelpost role ${role}`).digest("hex").slice(0, 32);

/** All roles, the most powerful one first. */
export const roles: readonly RoleDescription[] = (
  [
    ["administrator", "Super Administrator - All Privileges", "Can read and change everything in the account."],
    ["editor", "Editor", "Can read and change everything except members, account tokens and account settings."],
    ["viewer", "Viewer", "Can read everything except account tokens."],
  ] as const
).map(([role, name, description]) => ({ id: idOf(role), role, name, description }));

const byRole = new Map(roles.map((each) => [each.role, each]));
export const describeRole = (role: Role): RoleDescription => byRole.get(role)!;

/**
 * Areas that only administrators may change. Tokens show the permissions of others, so only administrators see them.
 */
const ADMINISTRATION: Record<string, { read: Role[] }> = {
  "Account Settings": { read: ["administrator", "editor", "viewer"] },
  "Account API Tokens": { read: ["administrator"] },
} satisfies Partial<Record<PermissionArea, { read: Role[] }>>;

function includes(role: Role, permission: Permission): boolean {
  const [, area, word] = /^(.*) (Read|Write|Run)$/.exec(permission)!;
  const reserved = ADMINISTRATION[area!];
  if (role === "administrator") return true;
  if (word === "Read") return reserved?.read.includes(role) ?? true;
  return role === "editor" && reserved === undefined;
}

/** Permissions on an account and on its zones and buckets. */
const accountPermissions = new Map(
  roles.map(({ role }) => [
    role,
    new Set(
      permissionGroups
        .filter(({ name, scope }) => scope !== "user" && includes(role, name))
        .map(({ name }): Permission => name),
    ),
  ]),
);

/**
 * True if a member with this role has the permission in the account. Permissions on the user do not depend on roles.
 */
export const roleAllows = (role: Role, permission: Permission): boolean =>
  accountPermissions.get(role)!.has(permission);
