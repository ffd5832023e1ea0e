import type { Clock } from "../../kernel/index.ts";
import { createFailureWindows, RATE_WINDOW_SECONDS } from "../../kernel/failure-windows.ts";
import { accountErrors } from "../errors.ts";

/** Limits failed sign-in attempts. Each function throws tooManySignIns while a limit is reached. */
export interface SignInAttempts {
  /** Call this before a secret is checked. `user`: the address that the client sent, whether it exists or not. */
  check(ip: string | undefined, user?: string): void;
  failed(ip: string | undefined, user?: string): void;
  /** The same for one-time codes, which are short. `user`: the id. */
  checkCode(ip: string | undefined, user: string): void;
  codeFailed(ip: string | undefined, user: string): void;
}

/** Failures per client network in five minutes. */
const MAX_PER_NETWORK = 30;
/** Failed passwords per user in five minutes. */
const MAX_PER_USER = 10;
/**
 * Failed one-time codes per user in an hour. Three of a million codes are valid at any time: an attacker who knows the
 * password finds one within a day with a probability below 0.1 %.
 */
const MAX_CODES_PER_USER = 10;
const CODE_WINDOW_SECONDS = 3600;

export function createSignInAttempts(clock: Clock): SignInAttempts {
  const networks = createFailureWindows({ failures: MAX_PER_NETWORK, seconds: RATE_WINDOW_SECONDS }, clock);
  const users = createFailureWindows({ failures: MAX_PER_USER, seconds: RATE_WINDOW_SECONDS }, clock);
  const codes = createFailureWindows({ failures: MAX_CODES_PER_USER, seconds: CODE_WINDOW_SECONDS }, clock);

  function refuse(...waits: (number | undefined)[]): void {
    const retryAfter = Math.max(...waits.map((seconds) => seconds ?? 0));
    if (retryAfter > 0) throw accountErrors.tooManySignIns({ seconds: retryAfter, retryAfter });
  }

  // Changes of how a user signs in are counted per user only: they are authenticated requests.
  const networkWait = (ip: string | undefined) => (ip === undefined ? undefined : networks.secondsLeft(ip));
  const networkFailed = (ip: string | undefined) => {
    if (ip !== undefined) networks.failed(ip);
  };

  return {
    check: (ip, user) => refuse(networkWait(ip), user === undefined ? undefined : users.secondsLeft(user)),
    failed(ip, user) {
      networkFailed(ip);
      if (user !== undefined) users.failed(user);
    },
    checkCode: (ip, user) => refuse(networkWait(ip), codes.secondsLeft(user)),
    codeFailed(ip, user) {
      networkFailed(ip);
      codes.failed(user);
    },
  };
}
