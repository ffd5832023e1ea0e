import { Secret, TOTP } from "otpauth";
import type { TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createSecrets } from "../../store/index.ts";
import { setUp } from "../accounts.testing.ts";
import type { AccountsOptions } from "../create.ts";
import { createPasswordHasher, type PasswordHasher } from "./password-hash.ts";
import type { SignInSuccess, SignInResult } from "./sign-in.ts";

export const PASSWORD = "correct horse battery";
/** Far below the cost of production, so that tests are fast. */
export const CHEAP = { ln: 4, r: 8, p: 1 };

/** Counts the passwords that are checked with scrypt. */
function countingHasher(): PasswordHasher & { count: number } {
  const hasher = createPasswordHasher(CHEAP);
  const counting = {
    ...hasher,
    count: 0,
    verify(password: string, hash: string | undefined) {
      counting.count++;
      return hasher.verify(password, hash);
    },
  };
  return counting;
}

/** Returns the code that an authenticator app shows for a secret in base32. */
export const codeAt = (secret: string, timestamp: number): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });

export const signedIn = (result: SignInResult): SignInSuccess => {
  if ("ticket" in result) throw new Error("a code is required");
  return result;
};

/** Accounts with a first user, and functions that sign in. */
export async function setUpSignIn(engine: TestEngine, t: TestContext, options: Partial<AccountsOptions> = {}) {
  const secrets = createSecrets({ keys: [Buffer.alloc(32, 7)] });
  const hasher = countingHasher();
  const base = await setUp(engine, t, { secrets, hasher, ...options });
  const { module, first, caller } = base;
  const email = first.user.email;
  const client = { ip: "192.0.2.1", userAgent: "Firefox" };
  /** Resolves with a session of the first user, opened by a link. */
  const signIn = async () => {
    const { secret: link } = await module.createSignInLink();
    return signedIn(await module.signIn.withLink(link, client));
  };
  /** Resolves with the caller behind a new session. */
  const user = async () => caller((await signIn()).secret);
  /** The first user sets a password in a new session. */
  const withPassword = async () => {
    const by = await user();
    await module.passwords.set(by, PASSWORD, {});
    return by;
  };
  return { ...base, secrets, hasher, email, client, signIn, user, withPassword };
}
