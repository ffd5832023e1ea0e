import { findAccounts } from "../accounts-table.ts";
import type { Session } from "../sessions/types.ts";
import type { AccountsExecutor } from "../tables.ts";
import { findTotp } from "./sign-in-table.ts";

/**
 * True if one of the accounts requires two-factor authentication and the session lacks it. A passkey counts as two
 * factors, and an OpenID Connect provider has its own second factor. Any other session needs an enrolled authenticator
 * app, because the sign-in then asks for its code.
 */
export async function lacksSecondFactor(
  db: AccountsExecutor,
  { user, method }: Pick<Session, "user" | "method">,
  accounts: readonly string[],
): Promise<boolean> {
  if (method === "passkey" || method === "oidc") return false;
  if ((await findTotp(db, user))?.confirmedAt != null) return false;
  return (await findAccounts(db, accounts)).some(({ settings }) => settings.enforceTwofactor);
}
