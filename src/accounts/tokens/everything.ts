import { permissionGroups, SCOPE_NAMES, type Scope } from "./permission-groups.ts";
import type { Policy } from "./types.ts";

/** Every permission on all that a user reaches, now and later. The ids are those of nobody: give them new ones before they are stored. */
export const everything = (user: string): Policy[] =>
  (Object.keys(SCOPE_NAMES) as Scope[]).map((scope) => ({
    id: "",
    effect: "allow",
    groups: permissionGroups.filter((group) => group.scope === scope).map(({ id }) => id),
    resources: { [`${SCOPE_NAMES[scope]}.${scope === "user" ? user : "*"}`]: "*" },
  }));
