import type { Clock } from "../../kernel/index.ts";
import type { Db, Secrets } from "../../store/index.ts";
import type { Caller } from "../caller.ts";
import { accountErrors } from "../errors.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { AccountTables, AccountsExecutor } from "../tables.ts";
import type { Confirmation, Confirmations } from "./confirmation.ts";
import { confirmTotp, countRecoveryCodes, deleteTotp, replaceRecoveryCodes, setTotp } from "./sign-in-table.ts";
import {
  hashRecoveryCode,
  makeRecoveryCodes,
  makeTotpSecret,
  totpContext,
  totpUri,
  type TwoFactorCodes,
} from "./two-factor-codes.ts";

/** Two-factor authentication of the caller's user. The functions throw the errors of Confirmations.check. */
export interface TwoFactor {
  status(by: Caller): Promise<{ enabled: boolean; recoveryCodes: number }>;
  /** Creates the secret of an authenticator app, in base32 and as `otpauth://` URI. Throws twoFactorOn. */
  enroll(by: Caller, confirmation: Confirmation): Promise<{ secret: string; uri: string }>;
  /**
   * Enables two-factor authentication with a first code and revokes all other sessions. Returns recovery codes, which
   * are not shown again. Throws badCode, tooManySignIns, twoFactorOn, twoFactorOff.
   */
  confirm(by: Caller, code: string): Promise<string[]>;
  /** Throws twoFactorOff. */
  disable(by: Caller, confirmation: Confirmation): Promise<void>;
  /** Replaces the recovery codes. Throws twoFactorOff. */
  createRecoveryCodes(by: Caller, confirmation: Confirmation): Promise<string[]>;
}

interface TwoFactorDeps {
  db: Db;
  clock: Clock;
  secrets: Secrets;
  codes: TwoFactorCodes;
  confirmations: Confirmations;
  sessions: Pick<Sessions, "revokeOthers">;
  /** Called after a change is committed and before the response is sent. */
  onChanged(user: string): void;
}

export function createTwoFactor({
  db,
  clock,
  secrets,
  codes,
  confirmations,
  sessions,
  onChanged,
}: TwoFactorDeps): TwoFactor {
  const tables = db.tables<AccountTables>();
  const transaction = <Result>(work: (tx: AccountsExecutor) => Promise<Result>) =>
    db.transaction<AccountTables, Result>(work);

  async function requireState(by: Caller, enabled: boolean): Promise<void> {
    if ((await codes.isEnabled(by.user.id)) === enabled) return;
    throw enabled ? accountErrors.twoFactorOff() : accountErrors.twoFactorOn();
  }

  async function replaceCodes(tx: AccountsExecutor, user: string): Promise<string[]> {
    const fresh = makeRecoveryCodes();
    await replaceRecoveryCodes(
      tx,
      user,
      fresh.map((code) => hashRecoveryCode(user, code)),
    );
    return fresh;
  }

  return {
    status: async ({ user }) => ({
      enabled: await codes.isEnabled(user.id),
      recoveryCodes: await countRecoveryCodes(tables, user.id),
    }),
    async enroll(by, confirmation) {
      await requireState(by, false);
      await confirmations.check(by, confirmation);
      const secret = makeTotpSecret();
      await transaction((tx) => setTotp(tx, by.user.id, secrets.seal(secret, totpContext(by.user.id))));
      return { secret, uri: totpUri(secret, by.user.email) };
    },
    async confirm(by, code) {
      await requireState(by, false);
      await codes.checkFirst(by.user.id, code);
      const recoveryCodes = await transaction(async (tx) => {
        await confirmTotp(tx, by.user.id, clock.now());
        return replaceCodes(tx, by.user.id);
      });
      await sessions.revokeOthers(by);
      onChanged(by.user.id);
      return recoveryCodes;
    },
    async disable(by, confirmation) {
      await requireState(by, true);
      await confirmations.check(by, confirmation);
      await transaction((tx) => deleteTotp(tx, by.user.id));
      onChanged(by.user.id);
    },
    async createRecoveryCodes(by, confirmation) {
      await requireState(by, true);
      await confirmations.check(by, confirmation);
      return transaction((tx) => replaceCodes(tx, by.user.id));
    },
  };
}
