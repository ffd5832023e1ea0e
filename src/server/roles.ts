import { serverErrors } from "./errors.ts";

/** What one process does. A process without a list does everything. */
export const ROLES = ["api", "workers", "smtp", "outbound", "dns", "encode", "live", "playback"] as const;
export type Role = (typeof ROLES)[number];

/** Throws UserError for a word that is no role. */
export function parseRoles(words: readonly string[] | undefined): ReadonlySet<Role> {
  if (words === undefined || words.length === 0) return new Set(ROLES);
  for (const word of words)
    if (!(ROLES as readonly string[]).includes(word))
      throw serverErrors.unknownRole({ role: JSON.stringify(word), roles: ROLES.join(", ") });
  return new Set(words as Role[]);
}

/**
 * With a database of its own a process is alone: where it has no API nobody ever deploys, where it runs no workers nobody ever meets
 * what was deployed. Throws rolesApart.
 */
export function refuseApart(roles: ReadonlySet<Role>): void {
  if (!roles.has("api") || !roles.has("workers")) throw serverErrors.rolesApart({ roles: [...roles].join(", ") });
}
