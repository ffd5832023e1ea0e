import type { Clock, Ids } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import { findUser, findUserByEmail, firstUser } from "../accounts-table.ts";
import { accountErrors } from "../errors.ts";
import { hashSecret } from "../tokens/value.ts";
import type { User } from "../types.ts";
import type { AccountTables } from "../tables.ts";
import type { SignInAttempts } from "./attempts.ts";
import { deleteExpiredLinks, insertSignInLink, takeSignInLink } from "./sign-in-table.ts";

export interface SignInLinks {
  /**
   * Creates a link for one sign-in within 30 minutes, for a user given by id or email address; by default the first
   * user. With `skipsTwoFactor`, no one-time code is required: for operators who help users without their device.
   * `secret` is what follows `/sign-in#link=` in the URL. Throws noUser, noUserOf.
   */
  createSignInLink(
    user?: { id: string } | { email: string },
    options?: { skipsTwoFactor?: boolean },
  ): Promise<{ secret: string; user: User; expiresAt: number }>;
}

interface SignInLinkVerifier {
  /** Uses up the link. Throws badLink, tooManySignIns. */
  take(secret: string, ip: string | undefined): Promise<{ user: User; skipsTwoFactor: boolean }>;
}

const MAX_AGE_MS = 30 * 60_000;

interface LinksDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
  attempts: SignInAttempts;
}

export function createSignInLinks({ db, clock, ids, attempts }: LinksDeps): SignInLinks & SignInLinkVerifier {
  const tables = db.tables<AccountTables>();

  async function findTarget(target: { id: string } | { email: string } | undefined): Promise<User> {
    if (target === undefined) {
      const user = await firstUser(tables);
      if (user === undefined) throw accountErrors.noUser();
      return user;
    }
    const user = "id" in target ? await findUser(tables, target.id) : await findUserByEmail(tables, target.email);
    if (user === undefined) throw accountErrors.noUserOf({ email: "id" in target ? target.id : target.email });
    return user;
  }

  return {
    async createSignInLink(target, { skipsTwoFactor = false } = {}) {
      const user = await findTarget(target);
      const secret = ids.token(30);
      const now = clock.now();
      const link = { user: user.id, skipsTwoFactor, expiresAt: now + MAX_AGE_MS };
      await db.transaction<AccountTables, void>(async (tx) => {
        await deleteExpiredLinks(tx, now);
        await insertSignInLink(tx, hashSecret(secret), link);
      });
      return { secret, user, expiresAt: link.expiresAt };
    },
    async take(secret, ip) {
      await attempts.check(ip);
      const link = await db.transaction<AccountTables, Awaited<ReturnType<typeof takeSignInLink>>>((tx) =>
        takeSignInLink(tx, hashSecret(secret)),
      );
      const isValid = link !== undefined && clock.now() < link.expiresAt;
      const user = isValid ? await findUser(tables, link.user) : undefined;
      if (!isValid || user === undefined) {
        await attempts.failed(ip);
        throw accountErrors.badLink();
      }
      return { user, skipsTwoFactor: link.skipsTwoFactor };
    },
  };
}
