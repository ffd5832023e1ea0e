import type { AccountsModule } from "../accounts/index.ts";
import type { Zones } from "../zones/index.ts";
import type { AccessControl } from "./ports.ts";

/** The accounts domain authenticates callers; the zones domain maps zones to accounts. */
export const createAccessControl = ({
  accounts,
  zones,
}: {
  accounts: Pick<AccountsModule, "authenticate" | "authenticateCached" | "isKnown" | "accountExists">;
  zones: Pick<Zones, "zoneAccount" | "cachedZoneAccount">;
}): AccessControl => ({
  authenticate: accounts.authenticate,
  isKnown: accounts.isKnown,
  accountExists: accounts.accountExists,
  zoneAccount: zones.zoneAccount,
  cached: { authenticate: accounts.authenticateCached, zoneAccount: zones.cachedZoneAccount },
});
