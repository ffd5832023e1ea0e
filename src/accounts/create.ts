import type { Clock, Ids, Log } from "../kernel/index.ts";
import { createReadThroughCache } from "../kernel/recent.ts";
import type { Db, Events, Secrets } from "../store/index.ts";
import { findAccount } from "./accounts-table.ts";
import { createAccountList, type AccountContents, type Accounts } from "./accounts.ts";
import { createFirstRun, type FirstRun } from "./first-run.ts";
import { createMemberships, type Memberships } from "./memberships.ts";
import { createTokenAuthenticator, type TokenAuthenticator } from "./tokens/authenticate.ts";
import { createLastUsed } from "./tokens/last-used.ts";
import { createTokens, type Tokens } from "./tokens/tokens.ts";
import { createValueSealer } from "./tokens/value.ts";
import { type AccountLimits, DEFAULT_ACCOUNT_LIMITS } from "./types.ts";
import { createUsers, type Users } from "./users.ts";
import type { AccountTables } from "./tables.ts";

export interface AccountsOptions {
  db: Db;
  clock: Clock;
  ids: Ids;
  events: Events;
  log: Log;
  limits?: Partial<AccountLimits>;
  /** Describes an account's resources. Default: accounts hold no resources. */
  contents?: AccountContents;
  /** Encrypts the S3 secrets of tokens. Default: tokens have no S3 secrets. */
  secrets?: Secrets;
}

/** Accounts, users, memberships and API tokens. */
export interface AccountsModule extends FirstRun {
  accounts: Accounts;
  users: Users;
  memberships: Memberships;
  tokens: Tokens;
  authenticate: TokenAuthenticator["authenticate"];
  isKnown: TokenAuthenticator["isKnown"];
  s3Credentials: TokenAuthenticator["s3Credentials"];
  stillValid: TokenAuthenticator["stillValid"];
  /**
   * Calls the listener when a token, an account or a membership changes in any process. Returns a function that
   * unsubscribes.
   */
  onChanged(listener: () => void): () => void;
  /** The result is cached for a few seconds. */
  accountExists(id: string): Promise<boolean>;
  nameOf(account: string): Promise<string | undefined>;
  /** Writes buffered updates of the times at which tokens were last used. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Topics of `store/events`. The notifications carry token ids and account ids. */
const TOKENS_TOPIC = "tokens";
const ACCOUNTS_TOPIC = "accounts";

const MAX_CACHED_ACCOUNTS = 10_000;
const ACCOUNT_TTL_MS = 5000;

export function createAccounts({
  db,
  clock,
  ids,
  events,
  log,
  limits: limitOverrides = {},
  contents = async () => undefined,
  secrets,
}: AccountsOptions): AccountsModule {
  const limits = { ...DEFAULT_ACCOUNT_LIMITS, ...limitOverrides };
  const sealValue = createValueSealer(secrets);
  const lastUsed = createLastUsed({ db, clock, log });
  const authenticator = createTokenAuthenticator({ db, clock, lastUsed, sealValue, ...(secrets && { secrets }) });
  const tables = db.tables<AccountTables>();
  const existenceCache = createReadThroughCache({
    read: async (id) => ((await findAccount(tables, id)) === undefined ? undefined : true),
    clock,
    max: MAX_CACHED_ACCOUNTS,
    ttlMs: ACCOUNT_TTL_MS,
  });

  // Account and membership changes are rare, so all cached tokens are dropped instead of determining the affected ones.
  const listeners = new Set<() => void>();
  const forget = {
    token: (id: string) => {
      if (id === "") authenticator.forgetAll();
      else authenticator.forgetToken(id);
      for (const listener of listeners) listener();
    },
    account: (id: string) => {
      existenceCache.forget((_, key) => id === "" || key === id);
      authenticator.forgetAll();
      for (const listener of listeners) listener();
    },
  };
  // Other processes receive the notification; this process invalidates its cache directly.
  const publishChange = {
    token: (id: string) => {
      forget.token(id);
      events.publish(TOKENS_TOPIC, id);
    },
    account: (id: string) => {
      forget.account(id);
      events.publish(ACCOUNTS_TOPIC, id);
    },
  };
  const unsubscribe = [events.subscribe(TOKENS_TOPIC, forget.token), events.subscribe(ACCOUNTS_TOPIC, forget.account)];

  return {
    accounts: createAccountList({
      db,
      clock,
      ids,
      limits,
      contents,
      onChanged: (account, tokens = []) => (tokens.forEach(publishChange.token), publishChange.account(account)),
    }),
    users: createUsers({ db }),
    memberships: createMemberships({ db, onChanged: publishChange.account }),
    tokens: createTokens({ db, clock, ids, limits, sealValue, onChanged: publishChange.token }),
    authenticate: authenticator.authenticate,
    isKnown: authenticator.isKnown,
    s3Credentials: authenticator.s3Credentials,
    stillValid: authenticator.stillValid,
    onChanged(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    accountExists: async (id) => (await existenceCache.get(id)) === true,
    nameOf: async (id) => (await findAccount(tables, id))?.name,
    ...createFirstRun({ db, clock, ids, sealValue, onChanged: () => publishChange.account("all") }),
    flush: lastUsed.flush,
    async close() {
      for (const end of unsubscribe) end();
      await lastUsed.close();
    },
  };
}
