import { serverErrors } from "./errors.ts";

/** Roles of a process. Default: all. */
export const ROLES = ["api", "workers", "smtp", "outbound", "dns", "encode", "live", "playback"] as const;
export type ProcessRole = (typeof ROLES)[number];

export const isRole = (word: string): word is ProcessRole => (ROLES as readonly string[]).includes(word);

/** Throws UserError for an unknown role. */
export function parseRoles(words: readonly string[] | undefined): ReadonlySet<ProcessRole> {
  if (words === undefined || words.length === 0) return new Set(ROLES);
  for (const word of words)
    if (!isRole(word)) throw serverErrors.unknownRole({ role: JSON.stringify(word), roles: ROLES.join(", ") });
  return new Set(words as ProcessRole[]);
}

/**
 * A process with its own database runs alone: without the role api nothing can be deployed, and without the role
 * workers nothing can run. Throws rolesApart.
 */
export function checkStandaloneRoles(roles: ReadonlySet<ProcessRole>): void {
  if (!roles.has("api") || !roles.has("workers")) throw serverErrors.rolesApart({ roles: [...roles].join(", ") });
}
