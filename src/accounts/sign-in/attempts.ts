import { RATE_WINDOW_SECONDS } from "../../kernel/failure-windows.ts";
import type { RateLimits } from "../../kernel/rate-limits.ts";
import { accountErrors } from "../errors.ts";

/** Limits failed sign-in attempts. The checks reject with tooManySignIns while a limit is reached. */
export interface SignInAttempts {
  /** Call this before a secret is checked. `user`: the address that the client sent, whether it exists or not. */
  check(ip: string | undefined, user?: string): Promise<void>;
  failed(ip: string | undefined, user?: string): Promise<void>;
  /** The same for one-time codes, which are short. `user`: the id. */
  checkCode(ip: string | undefined, user: string): Promise<void>;
  codeFailed(ip: string | undefined, user: string): Promise<void>;
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

export function createSignInAttempts(limits: Pick<RateLimits, "failures">): SignInAttempts {
  const networks = limits.failures("sign-in.networks", { failures: MAX_PER_NETWORK, seconds: RATE_WINDOW_SECONDS });
  const users = limits.failures("sign-in.users", { failures: MAX_PER_USER, seconds: RATE_WINDOW_SECONDS });
  const codes = limits.failures("sign-in.codes", { failures: MAX_CODES_PER_USER, seconds: CODE_WINDOW_SECONDS });

  async function refuse(...waits: (number | undefined | Promise<number | undefined>)[]): Promise<void> {
    const retryAfter = Math.max(...(await Promise.all(waits)).map((seconds) => seconds ?? 0));
    if (retryAfter > 0) throw accountErrors.tooManySignIns({ seconds: retryAfter, retryAfter });
  }

  // Changes of how a user signs in are counted per user only: they are authenticated requests.
  const networkWait = (ip: string | undefined) => (ip === undefined ? undefined : networks.secondsLeft(ip));
  const networkFailed = (ip: string | undefined) => (ip === undefined ? undefined : networks.failed(ip));

  return {
    check: (ip, user) => refuse(networkWait(ip), user === undefined ? undefined : users.secondsLeft(user)),
    async failed(ip, user) {
      await Promise.all([networkFailed(ip), user === undefined ? undefined : users.failed(user)]);
    },
    checkCode: (ip, user) => refuse(networkWait(ip), codes.secondsLeft(user)),
    async codeFailed(ip, user) {
      await Promise.all([networkFailed(ip), codes.failed(user)]);
    },
  };
}
