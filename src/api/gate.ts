import type { AccountsModule } from "../accounts/index.ts";
import type { AccessControl } from "./ports.ts";

/** The accounts domain authenticates callers; the zones domain maps zones to accounts. */
export const createAccessControl = ({
  accounts,
  zoneAccount,
}: {
  accounts: Pick<AccountsModule, "authenticate" | "isKnown" | "accountExists">;
  zoneAccount: AccessControl["zoneAccount"];
}): AccessControl => ({
  authenticate: accounts.authenticate,
  isKnown: accounts.isKnown,
  accountExists: accounts.accountExists,
  zoneAccount,
});
