import type { Caller, Permission } from "../accounts/index.ts";

/**
 * Zones of an account that a policy hides from a caller who may read the rest. One of the permissions suffices to read.
 * The list may contain zones of other accounts or deleted ones: use it to filter, never to display.
 */
export const hiddenZones = (caller: Caller, account: string, ...readers: readonly Permission[]): string[] =>
  (caller.deniedZones ?? []).filter(
    (zone) => !readers.some((permission) => caller.allows(permission, { zone, account })),
  );
