import { serverErrors } from "./errors.ts";

/** What one process does. A process without a list does everything. */
export const ROLES = ["api", "workers", "smtp"] as const;
export type Role = (typeof ROLES)[number];

/** Throws UserError for a word that is no role. */
export function parseRoles(words: readonly string[] | undefined): ReadonlySet<Role> {
  if (words === undefined || words.length === 0) return new Set(ROLES);
  for (const word of words) if (!(ROLES as readonly string[]).includes(word)) throw serverErrors.unknownRole({ role: JSON.stringify(word), roles: ROLES.join(", ") });
  return new Set(words as Role[]);
}
