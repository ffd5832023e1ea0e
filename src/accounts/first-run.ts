import type { Clock, Ids } from "../kernel/index.ts";
import { type Db, isUniqueViolation } from "../store/index.ts";
import {
  firstAccount,
  firstUser,
  insertAccount,
  insertMembership,
  insertUser,
  setGlobalKey,
} from "./accounts-table.ts";
import { accountErrors } from "./errors.ts";
import { makeAdminToken } from "./tokens/tokens.ts";
import { insertToken } from "./tokens/tokens-table.ts";
import { hashSecret, makeGlobalKey } from "./tokens/value.ts";
import type { Account, User } from "./types.ts";
import type { AccountTables } from "./tables.ts";

/** What is done on the machine itself, where no token is needed because the database is at hand. */
export interface FirstRun {
  /** `token` is the value that the token is to have; throws weakToken. Makes user, account and a token with every permission, all or nothing, when there is no user yet; undefined when there is. Throws badAccount. */
  bootstrap(options?: {
    accountName?: string;
    email?: string;
    token?: string;
  }): Promise<{ user: User; account: Account; token: string } | undefined>;
  /** The oldest account: the first run's, as long as it is there. */
  firstAccount(): Promise<Account | undefined>;
  /** One more token like the first one's, for when that is lost; no limit stands in its way. Throws noUser. */
  newAdminToken(options?: { name?: string }): Promise<{ user: User; token: string }>;
  /** A new global API key for the first user, for clients that send X-Auth-Email and X-Auth-Key; the one before is void. Throws noUser. */
  newGlobalKey(): Promise<{ user: User; key: string }>;
}

/** Of nobody: `.internal` is set aside for private use, so no mail ever goes there. */
const DEFAULT_EMAIL = "admin@reelpost.internal";
/** Clients check the address they are shown. */
const EMAIL =
  /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/i;

/** `changed` is called when something that callers depend on was replaced. */
export function createFirstRun({
  db,
  clock,
  ids,
  changed,
}: {
  db: Db;
  clock: Clock;
  ids: Ids;
  changed(): void;
}): FirstRun {
  async function theUser(): Promise<User> {
    const user = await firstUser(db.tables<AccountTables>());
    if (user === undefined) throw accountErrors.noUser();
    return user;
  }

  return {
    async bootstrap({ accountName = "My account", email = DEFAULT_EMAIL, token: wanted } = {}) {
      if (wanted !== undefined && !/^[\x21-\x7e]{32,200}$/.test(wanted)) throw accountErrors.weakToken();
      if (!EMAIL.test(email))
        throw accountErrors.badAccount({
          field: "email",
          reason: `${JSON.stringify(email)} is no address such as ann@example.com`,
        });
      const now = clock.now();
      const user: User = {
        id: ids.hex(),
        email,
        firstName: null,
        lastName: null,
        telephone: null,
        country: null,
        zipcode: null,
        hasGlobalKey: false,
        createdAt: now,
      };
      const account: Account = {
        id: ids.hex(),
        name: accountName,
        type: "standard",
        settings: { enforceTwofactor: false },
        createdAt: now,
      };
      const { token, value } = makeAdminToken({
        ids,
        now,
        user: user.id,
        name: "First token",
        ...(wanted !== undefined && { value: wanted }),
      });
      const membership = {
        id: ids.hex(),
        user: user.id,
        account: account.id,
        status: "accepted" as const,
        createdAt: now,
      };
      const done = await db
        .transaction<AccountTables, boolean>(async (tx) => {
          if ((await firstUser(tx)) !== undefined) return false;
          await insertUser(tx, user);
          await insertAccount(tx, account);
          await insertMembership(tx, membership);
          await insertToken(tx, token, hashSecret(value));
          return true;
        })
        .catch((err: unknown) => {
          // Two processes at once: PostgreSQL may see the same address twice before it sees that the transactions collide.
          if (isUniqueViolation(err)) return false;
          throw err;
        });
      return done ? { user, account, token: value } : undefined;
    },
    firstAccount: () => firstAccount(db.tables<AccountTables>()),
    async newAdminToken({ name = "Made on the machine" } = {}) {
      const user = await theUser();
      const { token, value } = makeAdminToken({ ids, now: clock.now(), user: user.id, name });
      await db.transaction<AccountTables, void>((tx) => insertToken(tx, token, hashSecret(value)));
      return { user, token: value };
    },
    async newGlobalKey() {
      const user = await theUser();
      const key = makeGlobalKey(ids);
      await db.transaction<AccountTables, void>((tx) => setGlobalKey(tx, user.id, hashSecret(key)));
      changed();
      return { user, key };
    },
  };
}
