import type { AccountsRoom } from "../accounts/index.ts";
import type { Gate } from "./ports.ts";

/** Who calls is answered by the accounts; whose a zone is, by whoever keeps zones. */
export const createGate = ({
  accounts,
  zoneAccount,
}: {
  accounts: Pick<AccountsRoom, "authenticate" | "isKnown" | "accountExists">;
  zoneAccount: Gate["zoneAccount"];
}): Gate => ({
  authenticate: accounts.authenticate,
  isKnown: accounts.isKnown,
  accountExists: accounts.accountExists,
  zoneAccount,
});
