import type { Clock } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import { findSession } from "../sessions/sessions-table.ts";
import { emailKey } from "../accounts-table.ts";
import type { Caller } from "../caller.ts";
import { accountErrors } from "../errors.ts";
import type { AccountTables } from "../tables.ts";
import type { SignInAttempts } from "./attempts.ts";
import type { PasswordHasher } from "./password-hash.ts";
import { findPassword } from "./sign-in-table.ts";
import type { TwoFactorCodes } from "./two-factor-codes.ts";

/** Proof that the user, not only a holder of a token or of an open session, asks for a change. */
export interface Confirmation {
  password?: string | undefined;
  /** A one-time code or a recovery code. */
  code?: string | undefined;
}

export interface Confirmations {
  /**
   * Throws confirmationRequired unless the caller may change how the user signs in: a session that was opened in the
   * last 15 minutes; an older session with the password; a token with the password and, if enabled, a one-time code.
   * Throws signInFailed, badCode and tooManySignIns like a sign-in.
   */
  check(by: Caller, confirmation: Confirmation): Promise<void>;
}

const RECENT_MS = 15 * 60_000;

interface ConfirmationsDeps {
  db: Db;
  clock: Clock;
  attempts: SignInAttempts;
  hasher: PasswordHasher;
  codes: TwoFactorCodes;
}

export function createConfirmations({ db, clock, attempts, hasher, codes }: ConfirmationsDeps): Confirmations {
  const tables = db.tables<AccountTables>();

  async function checkPassword({ user }: Caller, password: string, hash: string): Promise<void> {
    const name = emailKey(user.email);
    await attempts.check(undefined, name);
    if (await hasher.verify(password, hash)) return;
    await attempts.failed(undefined, name);
    throw accountErrors.signInFailed();
  }

  return {
    async check(by, { password, code }) {
      // Read from the database: the session may have been revoked since the request began.
      const session = by.sessionId === undefined ? undefined : await findSession(tables, by.sessionId);
      if (session !== undefined && clock.now() - session.createdAt < RECENT_MS) return;
      const isSession = by.sessionId !== undefined;
      const stored = await findPassword(tables, by.user.id);
      if (stored === undefined || (isSession && session === undefined))
        throw accountErrors.confirmationRequired({
          reason: isSession ? "you signed in more than 15 minutes ago" : "the user has no password",
          how: isSession ? "Sign in again." : "Sign in to the dashboard, and make the change there.",
        });
      if (password === undefined)
        throw accountErrors.confirmationRequired({
          reason: "the current password is missing",
          how: "Send current_password.",
        });
      await checkPassword(by, password, stored.hash);
      if (isSession || !(await codes.isEnabled(by.user.id))) return;
      if (code === undefined)
        throw accountErrors.confirmationRequired({ reason: "the one-time code is missing", how: "Send code." });
      await codes.check(by.user.id, code, undefined);
    },
  };
}
