import type { AccountsModule } from "../accounts/index.ts";
import type { Gate } from "./ports.ts";

/** The accounts domain authenticates callers; the zones domain maps zones to accounts. */
export const createGate = ({
  accounts,
  zoneAccount,
}: {
  accounts: Pick<AccountsModule, "authenticate" | "isKnown" | "accountExists">;
  zoneAccount: Gate["zoneAccount"];
}): Gate => ({
  authenticate: accounts.authenticate,
  isKnown: accounts.isKnown,
  accountExists: accounts.accountExists,
  zoneAccount,
});
