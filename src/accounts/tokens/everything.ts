import { permissionGroups, SCOPE_NAMES, type Scope } from "./permission-groups.ts";
import type { Policy } from "./types.ts";

/** The bucket scope is omitted because permissions on an account include its buckets. */
const SCOPES: Scope[] = ["account", "zone", "user"];

/**
 * Policies that grant every permission on everything that a user can access, now and in the future. Replace the
 * placeholder ids before storing them.
 */
export const fullAccessPolicies = (user: string): Policy[] =>
  SCOPES.map((scope) => ({
    id: "",
    effect: "allow",
    groups: permissionGroups.filter((group) => group.scope === scope).map(({ id }) => id),
    resources: { [`${SCOPE_NAMES[scope]}.${scope === "user" ? user : "*"}`]: "*" },
  }));
