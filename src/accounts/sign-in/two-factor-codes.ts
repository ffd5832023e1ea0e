import { randomBytes } from "node:crypto";
import { Secret, TOTP } from "otpauth";
import type { Clock } from "../../kernel/index.ts";
import type { Db, Secrets } from "../../store/index.ts";
import { accountErrors } from "../errors.ts";
import { hashSecret } from "../tokens/value.ts";
import type { AccountTables, AccountsExecutor } from "../tables.ts";
import type { SignInAttempts } from "./attempts.ts";
import { findTotp, takeRecoveryCode, useTotpStep } from "./sign-in-table.ts";

/** Verifies one-time codes (RFC 6238) and recovery codes. */
export interface TwoFactorCodes {
  isEnabled(user: string): Promise<boolean>;
  /** Accepts each code once. Throws badCode, tooManySignIns, twoFactorOff. */
  check(user: string, code: string, ip: string | undefined): Promise<void>;
  /** Verifies the first code of a secret that is not confirmed. Throws badCode, tooManySignIns, twoFactorOff. */
  checkFirst(user: string, code: string): Promise<void>;
}

/** The parameters that every authenticator app supports. */
const PERIOD_SECONDS = 30;
const DIGITS = 6;
const SECRET_BYTES = 20;
/** One step in each direction, for clocks that differ (RFC 6238 6). */
const WINDOW = 1;
const RECOVERY_CODES = 10;
/** RFC 4648 base32: no characters that look alike in upper case. */
const BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

export const totpContext = (user: string): string => `user/${user}/totp`;

export const makeTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32;

const totpOf = (secret: string, label = "") =>
  new TOTP({ issuer: "Reelpost", label, digits: DIGITS, period: PERIOD_SECONDS, secret: Secret.fromBase32(secret) });

/** Returns the `otpauth://` address for a QR code. */
export const totpUri = (secret: string, email: string): string => totpOf(secret, email).toString();

/** `xxxx-xxxx-xxxx-xxxx`: 80 bits of entropy. */
export const makeRecoveryCodes = (): string[] =>
  Array.from({ length: RECOVERY_CODES }, () =>
    [...randomBytes(16)]
      .map((byte) => BASE32[byte % 32]!)
      .join("")
      .replace(/(.{4})(?=.)/g, "$1-")
      .toLowerCase(),
  );

/** The user's id is part of the hash, so that codes of different users cannot be compared. */
export const hashRecoveryCode = (user: string, code: string): string =>
  hashSecret(`${user} ${code.toLowerCase().replaceAll(/[\s-]/g, "")}`);

export function createTwoFactorCodes({
  db,
  clock,
  secrets,
  attempts,
}: {
  db: Db;
  clock: Clock;
  secrets: Secrets;
  attempts: SignInAttempts;
}): TwoFactorCodes {
  const tables = db.tables<AccountTables>();

  async function accept(
    user: string,
    code: string,
    { ip, isFirst }: { ip: string | undefined; isFirst: boolean },
  ): Promise<void> {
    await attempts.checkCode(ip, user);
    const found = await findTotp(tables, user);
    if (found === undefined || (found.confirmedAt === null) !== isFirst) throw accountErrors.twoFactorOff();
    const digits = code.replaceAll(/\s/g, "");
    const isAccepted = await db.transaction<AccountTables, boolean>((tx) =>
      /^\d+$/.test(digits)
        ? acceptTotp(tx, user, digits, secrets.open(found.secret, totpContext(user)))
        : isFirst
          ? Promise.resolve(false)
          : takeRecoveryCode(tx, user, hashRecoveryCode(user, code)),
    );
    if (isAccepted) return;
    await attempts.codeFailed(ip, user);
    throw accountErrors.badCode();
  }

  async function acceptTotp(tx: AccountsExecutor, user: string, digits: string, secret: string): Promise<boolean> {
    const now = clock.now();
    const delta = totpOf(secret).validate({ token: digits, timestamp: now, window: WINDOW });
    return delta !== null && useTotpStep(tx, user, Math.floor(now / 1000 / PERIOD_SECONDS) + delta);
  }

  return {
    isEnabled: async (user) => (await findTotp(tables, user))?.confirmedAt != null,
    check: (user, code, ip) => accept(user, code, { ip, isFirst: false }),
    checkFirst: (user, code) => accept(user, code, { ip: undefined, isFirst: true }),
  };
}
