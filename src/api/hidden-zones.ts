import type { Caller, Permission } from "../accounts/index.ts";

/**
 * Returns zones of an account that a policy hides from a caller who may read the account's other zones. Any one of the
 * permissions suffices to read. The list may contain deleted zones and zones of other accounts: use it for filtering,
 * never for display.
 */
export const hiddenZones = (caller: Caller, account: string, ...readers: readonly Permission[]): string[] =>
  (caller.deniedZones ?? []).filter(
    (zone) => !readers.some((permission) => caller.allows(permission, { zone, account })),
  );
