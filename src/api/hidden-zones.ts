import type { Caller, Permission } from "../accounts/index.ts";

/**
 * Zones that a caller who may read of an account as a whole may not read of: a policy takes them out. Any of the permissions is enough to read.
 * They may be another account's, or none: to be left out of lists, never to be shown.
 */
export const hiddenZones = (caller: Caller, account: string, ...readers: readonly Permission[]): string[] =>
  (caller.deniedZones ?? []).filter(
    (zone) => !readers.some((permission) => caller.allows(permission, { zone, account })),
  );
