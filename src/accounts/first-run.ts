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
import type { AuditLog } from "./audit/audit-log.ts";
import { checkEmail } from "./email.ts";
import { accountErrors } from "./errors.ts";
import { makeAdminToken } from "./tokens/tokens.ts";
import { insertToken } from "./tokens/tokens-table.ts";
import { hashSecret, makeGlobalKey, type SealValue } from "./tokens/value.ts";
import type { Account, User } from "./types.ts";
import type { AccountTables } from "./tables.ts";

/** Operations on the machine itself. They need no token: a user who can run them can already read the database. */
export interface FirstRun {
  /**
   * Creates a user, an account and a token with every permission in one transaction. Resolves with undefined if a user
   * exists. `token` sets the token's value; throws weakToken, badAccount.
   */
  bootstrap(options?: {
    accountName?: string;
    email?: string;
    token?: string;
  }): Promise<{ user: User; account: Account; token: string } | undefined>;
  /** Resolves with the oldest account: the one created during the first run, unless it has been deleted. */
  firstAccount(): Promise<Account | undefined>;
  /**
   * Creates another token like the first one, in case that one has been lost. The token limit does not apply. Throws
   * noUser.
   */
  createAdminToken(options?: { name?: string }): Promise<{ user: User; token: string }>;
  /**
   * Creates a new global API key for the first user, for clients that send X-Auth-Email and X-Auth-Key. The previous
   * key stops working. Throws noUser.
   */
  createGlobalKey(): Promise<{ user: User; key: string }>;
}

/** `.internal` is reserved for private use, so mail to this address never leaves the machine. */
const DEFAULT_EMAIL = "admin@reelpost.internal";

/** `onChanged` is called when cached credentials have become stale. */
export function createFirstRun({
  db,
  clock,
  ids,
  audit,
  sealValue,
  onChanged,
}: {
  db: Db;
  clock: Clock;
  ids: Ids;
  audit: Pick<AuditLog, "record">;
  sealValue: SealValue;
  onChanged(): void;
}): FirstRun {
  async function findSoleUser(): Promise<User> {
    const user = await firstUser(db.tables<AccountTables>());
    if (user === undefined) throw accountErrors.noUser();
    return user;
  }

  return {
    async bootstrap({ accountName = "My account", email = DEFAULT_EMAIL, token: configuredToken } = {}) {
      if (configuredToken !== undefined && !/^[\x21-\x7e]{32,200}$/.test(configuredToken))
        throw accountErrors.weakToken();
      checkEmail(email);
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
        ...(configuredToken !== undefined && { value: configuredToken }),
      });
      const membership = {
        id: ids.hex(),
        user: user.id,
        account: account.id,
        status: "accepted" as const,
        role: "administrator" as const,
        createdAt: now,
      };
      const done = await db
        .transaction<AccountTables, boolean>(async (tx) => {
          if ((await firstUser(tx)) !== undefined) return false;
          await insertUser(tx, user);
          await insertAccount(tx, account);
          await insertMembership(tx, membership);
          await insertToken(tx, token, sealValue(token.id, value));
          return true;
        })
        .catch((err: unknown) => {
          // With two concurrent processes, PostgreSQL may report the duplicate address before it detects the
          // serialization conflict.
          if (isUniqueViolation(err)) return false;
          throw err;
        });
      if (!done) return undefined;
      await audit.record({
        interface: "system",
        user: user.id,
        operation: "first-run",
        summary: "Create the first user, account and token",
        action: "create",
        account: account.id,
        resource: { type: "accounts", id: account.id },
        after: { user: user.email, account: account.name, token: { id: token.id, name: token.name } },
      });
      return { user, account, token: value };
    },
    firstAccount: () => firstAccount(db.tables<AccountTables>()),
    async createAdminToken({ name = "Made on the machine" } = {}) {
      const user = await findSoleUser();
      const { token, value } = makeAdminToken({ ids, now: clock.now(), user: user.id, name });
      await db.transaction<AccountTables, void>((tx) => insertToken(tx, token, sealValue(token.id, value)));
      await audit.record({
        interface: "command line",
        user: user.id,
        operation: "create-admin-token",
        summary: "Create a token with every permission on the server's machine",
        action: "create",
        resource: { type: "tokens", id: token.id },
        after: { id: token.id, name: token.name },
      });
      return { user, token: value };
    },
    async createGlobalKey() {
      const user = await findSoleUser();
      const key = makeGlobalKey(ids);
      await db.transaction<AccountTables, void>((tx) => setGlobalKey(tx, user.id, hashSecret(key)));
      onChanged();
      await audit.record({
        interface: "command line",
        user: user.id,
        operation: "create-global-key",
        summary: "Replace the global API key on the server's machine",
        action: "update",
        resource: { type: "global_key", id: user.id },
      });
      return { user, key };
    },
  };
}
