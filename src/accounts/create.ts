import { randomBytes } from "node:crypto";
import type { Clock, Ids, Log } from "../kernel/index.ts";
import { createLocalLimits, type RateLimits } from "../kernel/rate-limits.ts";
import type { Settings } from "../kernel/settings.ts";
import { createReadThroughCache } from "../kernel/recent.ts";
import { createSecrets, type Db, type Events, type Secrets } from "../store/index.ts";
import { findAccount } from "./accounts-table.ts";
import { createAuditLog, type AuditLog } from "./audit/audit-log.ts";
import { createAccountList, type AccountContents, type Accounts } from "./accounts.ts";
import { accountErrors } from "./errors.ts";
import { createFirstRun, type FirstRun } from "./first-run.ts";
import { createMembers, type Members } from "./members/members.ts";
import { createMemberships, type Memberships } from "./memberships.ts";
import { createSessions, type SessionLimits, type Sessions } from "./sessions/sessions.ts";
import { setSessionUses, type SessionUse } from "./sessions/sessions-table.ts";
import type { OidcSettings } from "./sign-in/oidc.ts";
import type { PasswordHasher } from "./sign-in/password-hash.ts";
import { createSignIn, type SignInModule } from "./sign-in/sign-in.ts";
import { createTokenAuthenticator, type TokenAuthenticator } from "./tokens/authenticate.ts";
import { createLastUseTracker } from "./tokens/last-used.ts";
import { createTokens, type Tokens } from "./tokens/tokens.ts";
import { setLastUsed } from "./tokens/tokens-table.ts";
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
  /** Counts failed attempts to sign in. Default: counts within this process. */
  rateLimits?: RateLimits;
  /** Describes an account's resources. Default: accounts hold no resources. */
  contents?: AccountContents;
  /**
   * Encrypts the S3 secrets of tokens, and the secrets of one-time codes. Default: tokens have no S3 secrets, and
   * one-time codes end with the process.
   */
  secrets?: Secrets;
  /** Expiry of sessions, and the OpenID Connect provider. Default: the defaults of the settings. */
  dashboard?: DashboardSettings;
  /** Retention period of the audit log in days. Default 365. */
  auditDays?: number;
  /** For tests: passwords that cost less. */
  hasher?: PasswordHasher;
}

type DashboardSettings = Pick<
  Settings["dashboard"],
  "session_idle_hours" | "session_max_days" | "oidc_issuer" | "oidc_client_id" | "oidc_client_secret" | "oidc_domains"
>;

/** Accounts, users, memberships, API tokens, sessions and sign-in. */
export interface AccountsModule extends FirstRun, SignInModule {
  accounts: Accounts;
  users: Users;
  memberships: Memberships;
  members: Members;
  tokens: Tokens;
  sessions: Sessions;
  audit: AuditLog;
  authenticate: TokenAuthenticator["authenticate"];
  authenticateCached: TokenAuthenticator["authenticateCached"];
  isKnown: TokenAuthenticator["isKnown"];
  s3Credentials: TokenAuthenticator["s3Credentials"];
  stillValid: TokenAuthenticator["stillValid"];
  /**
   * Calls the listener when a token, a session, an account or a membership changes in any process. Returns a function
   * that unsubscribes.
   */
  onChanged(listener: () => void): () => void;
  /** The result is cached for a few seconds. */
  accountExists(id: string): Promise<boolean>;
  nameOf(account: string): Promise<string | undefined>;
  /** Writes buffered updates of the times at which tokens and sessions were last used. */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** Topics of `store/events`. The notifications carry ids of tokens, sessions and accounts. */
const TOKENS_TOPIC = "tokens";
const ACCOUNTS_TOPIC = "accounts";

const HOUR_MS = 3_600_000;
const DEFAULT_SESSION_LIMITS: SessionLimits = { idleMs: 72 * HOUR_MS, maxMs: 30 * 24 * HOUR_MS };

const MAX_CACHED_ACCOUNTS = 10_000;
const ACCOUNT_TTL_MS = 5000;

export function createAccounts({
  db,
  clock,
  ids,
  events,
  log,
  limits: limitOverrides = {},
  rateLimits = createLocalLimits(clock),
  contents = async () => undefined,
  secrets,
  dashboard,
  auditDays = 365,
  hasher,
}: AccountsOptions): AccountsModule {
  const limits = { ...DEFAULT_ACCOUNT_LIMITS, ...limitOverrides };
  const sealValue = createValueSealer(secrets);
  const lastUsed = createLastUseTracker<number>({ db, clock, log, what: "API tokens", write: setLastUsed });
  const sessionUses = createLastUseTracker<SessionUse>({ db, clock, log, what: "sessions", write: setSessionUses });
  const sessionLimits = dashboard === undefined ? DEFAULT_SESSION_LIMITS : sessionLimitsOf(dashboard);
  const authenticator = createTokenAuthenticator({
    db,
    clock,
    lastUsed,
    sessionUses,
    sessionIdleMs: sessionLimits.idleMs,
    sealValue,
    ...(secrets && { secrets }),
  });
  const audit = createAuditLog({ db, clock, ids, log, days: auditDays });
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

  // A session is announced like a token: the two have ids of the same kind.
  const sessions = createSessions({ db, clock, ids, limits: sessionLimits, onEnded: publishChange.token });
  const members = createMembers({ db, clock, ids, audit, limits, onChanged: publishChange.account });
  const signIn = createSignIn({
    db,
    clock,
    ids,
    secrets: secrets ?? createSecrets({ keys: [randomBytes(32)] }),
    sessions,
    audit,
    invitations: members.invitations,
    oidc: dashboard && oidcOf(dashboard),
    hasher,
    limits: rateLimits,
    // Drop all cached callers, as after an account change: the permissions of the user's sessions may have changed.
    onTwoFactorChanged: publishChange.account,
  });

  return {
    ...signIn,
    sessions,
    audit,
    accounts: createAccountList({
      db,
      clock,
      ids,
      limits,
      contents,
      onChanged: (account, tokens = []) => (tokens.forEach(publishChange.token), publishChange.account(account)),
    }),
    users: createUsers({ db }),
    memberships: createMemberships({ db, clock, onChanged: publishChange.account }),
    members,
    tokens: createTokens({ db, clock, ids, limits, sealValue, onChanged: publishChange.token }),
    authenticate: authenticator.authenticate,
    authenticateCached: authenticator.authenticateCached,
    isKnown: authenticator.isKnown,
    s3Credentials: authenticator.s3Credentials,
    stillValid: authenticator.stillValid,
    onChanged(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    accountExists: async (id) => (await existenceCache.get(id)) === true,
    nameOf: async (id) => (await findAccount(tables, id))?.name,
    ...createFirstRun({ db, clock, ids, audit, sealValue, onChanged: () => publishChange.account("all") }),
    flush: async () => void (await Promise.all([lastUsed.flush(), sessionUses.flush()])),
    async close() {
      for (const end of unsubscribe) end();
      await Promise.all([lastUsed.close(), sessionUses.close()]);
    },
  };
}

const sessionLimitsOf = ({ session_idle_hours: idle, session_max_days: max }: DashboardSettings): SessionLimits => ({
  idleMs: idle * HOUR_MS,
  maxMs: max * 24 * HOUR_MS,
});

/** Throws oidcIncomplete. */
function oidcOf({
  oidc_issuer: issuer,
  oidc_client_id: clientId,
  oidc_client_secret: clientSecret,
  oidc_domains: allowedDomains,
}: DashboardSettings): OidcSettings | undefined {
  if (issuer === "") return undefined;
  if (clientId === "") throw accountErrors.oidcIncomplete();
  return { issuer, clientId, clientSecret, allowedDomains };
}
