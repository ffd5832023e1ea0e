import type { Clock } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import { emailKey, findUserByEmail } from "../accounts-table.ts";
import type { Caller } from "../caller.ts";
import { accountErrors } from "../errors.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { User } from "../types.ts";
import type { AccountTables, AccountsExecutor } from "../tables.ts";
import type { SignInAttempts } from "./attempts.ts";
import type { Confirmation, Confirmations } from "./confirmation.ts";
import type { PasswordHasher } from "./password-hash.ts";
import { deletePassword, findPassword, replacePasswordHash, setPassword } from "./sign-in-table.ts";

/** The password of the caller's user. */
export interface Passwords {
  /** Resolves with the time of the last change; undefined if the user has no password. */
  changedAt(by: Caller): Promise<number | undefined>;
  /**
   * Sets or replaces the password and revokes all other sessions of the user. Throws badPassword, and the errors of
   * Confirmations.check.
   */
  set(by: Caller, password: string, confirmation: Confirmation): Promise<void>;
  /** Throws noPassword, and the errors of Confirmations.check. */
  delete(by: Caller, confirmation: Confirmation): Promise<void>;
}

interface PasswordVerifier {
  /**
   * Returns the user with this address and password. Throws signInFailed: in the same way and after the same work,
   * whether the address is unknown, the user has no password, or the password is wrong. Throws tooManySignIns,
   * signInBusy.
   */
  verify(credentials: { email: string; password: string }, ip: string | undefined): Promise<User>;
}

/** NIST SP 800-63B 3.1.1.2 requires at least 8 characters in combination with a second factor, and 15 without one. */
const MIN_LENGTH = 12;
const MAX_LENGTH = 256;

interface PasswordsDeps {
  db: Db;
  clock: Clock;
  hasher: PasswordHasher;
  attempts: SignInAttempts;
  confirmations: Confirmations;
  sessions: Pick<Sessions, "revokeOthers">;
}

export function createPasswords({
  db,
  clock,
  hasher,
  attempts,
  confirmations,
  sessions,
}: PasswordsDeps): Passwords & PasswordVerifier {
  const tables = db.tables<AccountTables>();
  const transaction = <Result>(work: (tx: AccountsExecutor) => Promise<Result>) =>
    db.transaction<AccountTables, Result>(work);

  return {
    changedAt: async (by) => (await findPassword(tables, by.user.id))?.changedAt,
    async set(by, password, confirmation) {
      checkStrength(password, by.user.email);
      await confirmations.check(by, confirmation);
      const hash = await hasher.hash(password);
      await transaction((tx) => setPassword(tx, by.user.id, { hash, changedAt: clock.now() }));
      await sessions.revokeOthers(by);
    },
    async delete(by, confirmation) {
      if ((await findPassword(tables, by.user.id)) === undefined) throw accountErrors.noPassword();
      await confirmations.check(by, confirmation);
      await transaction((tx) => deletePassword(tx, by.user.id));
      await sessions.revokeOthers(by);
    },
    async verify({ email, password }, ip) {
      const name = emailKey(email);
      await attempts.check(ip, name);
      const user = await findUserByEmail(tables, email);
      const stored = user && (await findPassword(tables, user.id));
      // Without a hash, this takes as long as with one.
      const isRight = await hasher.verify(password, stored?.hash);
      // Attempts that arrived together were all admitted: those beyond the limit must not reveal whether the password
      // is right.
      await attempts.check(ip, name);
      if (user === undefined || stored === undefined || !isRight) {
        await attempts.failed(ip, name);
        throw accountErrors.signInFailed();
      }
      if (hasher.isOutdated(stored.hash)) {
        const to = await hasher.hash(password);
        await transaction((tx) => replacePasswordHash(tx, user.id, { from: stored.hash, to }));
      }
      return user;
    },
  };
}

function checkStrength(password: string, email: string): void {
  const length = [...password].length;
  if (length < MIN_LENGTH) throw accountErrors.badPassword({ reason: `is shorter than ${MIN_LENGTH} characters` });
  if (length > MAX_LENGTH) throw accountErrors.badPassword({ reason: `is longer than ${MAX_LENGTH} characters` });
  const lower = password.toLowerCase();
  if (lower === email.toLowerCase()) throw accountErrors.badPassword({ reason: "is the email address" });
  if (new Set(lower).size < 4) throw accountErrors.badPassword({ reason: "repeats the same characters" });
}
