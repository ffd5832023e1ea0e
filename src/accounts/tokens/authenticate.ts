import type { Clock } from "../../kernel/index.ts";
import { createReadThroughCache } from "../../kernel/recent.ts";
import type { Db, Secrets } from "../../store/index.ts";
import { emailKey, findUser, findUserByGlobalKey, rolesOfUser } from "../accounts-table.ts";
import type { Caller, Permission } from "../caller.ts";
import { accountErrors } from "../errors.ts";
import { roleAllows, type Role } from "../roles.ts";
import { findSession, findSessionByHash, type SessionUse } from "../sessions/sessions-table.ts";
import type { Session } from "../sessions/types.ts";
import { isSessionSecret } from "../sessions/value.ts";
import { lacksSecondFactor } from "../sign-in/second-factor.ts";
import type { User } from "../types.ts";
import { fullAccessPolicies } from "./everything.ts";
import { compileGrants, grantsOf, type Grant } from "./grants.ts";
import { ipMatcher } from "./ip-condition.ts";
import type { LastUseTracker } from "./last-used.ts";
import { permissionGroups } from "./permission-groups.ts";
import { findS3Secret, findToken, findTokenByHash, setS3Secret } from "./tokens-table.ts";
import type { Token } from "./types.ts";
import { hashSecret, s3SecretContext, type SealValue } from "./value.ts";
import type { AccountTables } from "../tables.ts";

export interface TokenAuthenticator {
  /**
   * Returns the caller behind a token or a session, or behind a user's address with the global key or one of the user's
   * tokens. Undefined if unknown, revoked, disabled, expired or not yet valid. Throws wrongAddress.
   */
  authenticate(credentials: { secret: string; email?: string; ip?: string }): Promise<Caller | undefined>;
  /**
   * The same for a token or session in the cache. Undefined if `authenticate` has to decide: the caller is not cached,
   * or is refused.
   */
  authenticateCached(credentials: { secret: string; ip?: string }): Caller | undefined;
  /**
   * Resolves with the caller and the signing secret for an S3 access key id, which is a token id. Undefined if the
   * token is unknown, revoked, disabled, expired or not yet valid. The id is not secret, so this is not a use of the
   * token: call `recordUse` once a signature has been verified. Throws wrongAddress.
   */
  s3Credentials(accessKeyId: string, ip?: string): Promise<S3Credentials | undefined>;
  /** True if the cache holds this value as a valid token. Does not read the database. */
  isKnown(secret: string): boolean;
  /**
   * Resolves with the caller of a token id or session id, for a connection opened at `since`. Undefined if the token is
   * revoked, disabled, not valid now, or changed after `since`. Reads the database.
   */
  stillValid(tokenId: string, since: number): Promise<Caller | undefined>;
  /** Call this when the token has changed, or the session has ended. */
  forgetToken(id: string): void;
  /** Call this when users or memberships have changed, or when notifications may have been lost. */
  forgetAll(): void;
}

interface S3Credentials {
  caller: Caller;
  secret: string;
  /** Updates the time at which the token was last used. */
  recordUse(): void;
}

interface CachedCaller {
  caller: Caller;
  emailKey: string;
  /** A global key authenticates only together with the user's address. */
  onlyWithEmail: boolean;
  notBefore: number;
  expiresAt: number;
  letsIn(ip: string | undefined): boolean;
  /** Absent for a global key. */
  use?: { lastUsedAt: number | null; notedAt: number };
  /** False if the token was created before tokens had S3 secrets. */
  hasS3Secret?: boolean;
}

/** Maximum number of cached callers. */
const MAX_CALLERS = 2000;
/** Changes invalidate entries immediately; this limit covers lost notifications. */
const CALLER_TTL_MS = 5000;
/** Minimum interval between updates of a token's last use. */
const LAST_USED_INTERVAL_MS = 10_000;

interface AuthenticatorDeps {
  db: Db;
  clock: Clock;
  lastUsed: LastUseTracker<number>;
  sessionUses: LastUseTracker<SessionUse>;
  /** A session that is not used for this time ends. */
  sessionIdleMs: number;
  sealValue: SealValue;
  secrets?: Secrets;
}

export function createTokenAuthenticator({
  db,
  clock,
  lastUsed,
  sessionUses,
  sessionIdleMs,
  sealValue,
  secrets,
}: AuthenticatorDeps): TokenAuthenticator {
  const tables = db.tables<AccountTables>();

  async function read(key: string): Promise<CachedCaller | undefined> {
    if (key.startsWith(SESSION_KEY)) return readSession(await findSessionByHash(tables, key.slice(SESSION_KEY.length)));
    const secretHash = key;
    const token = await findTokenByHash(tables, secretHash, clock.now());
    if (token === undefined) return readGlobalKey(await findUserByGlobalKey(tables, secretHash));
    const entry = await readToken(token);
    return entry && { ...entry, hasS3Secret: (await findS3Secret(tables, token.id)) !== null };
  }

  async function readToken(token: Token): Promise<CachedCaller | undefined> {
    if (token.status === "disabled") return undefined;
    const user = await findUser(tables, token.createdBy);
    if (user === undefined) return undefined;
    const memberships = "user" in token.owner ? await rolesOfUser(tables, token.owner.user) : token.owner.account;
    return {
      ...cachedCallerOf(user, { tokenId: token.id, grants: grantsOf(token.policies, token.owner), memberships }),
      onlyWithEmail: false,
      notBefore: token.notBefore ?? -Infinity,
      expiresAt: token.expiresAt ?? Infinity,
      letsIn: ipMatcher(token.ip),
      use: { lastUsedAt: token.lastUsedAt, notedAt: -Infinity },
    };
  }

  async function readSession(session: Session | undefined): Promise<CachedCaller | undefined> {
    const user = session && (await findUser(tables, session.user));
    if (session === undefined || user === undefined) return undefined;
    const memberships = await rolesOfUser(tables, user.id);
    const isLimited = await lacksSecondFactor(tables, session, [...memberships.keys()]);
    return {
      caller: {
        tokenId: session.id,
        sessionId: session.id,
        user: { id: user.id, email: user.email },
        accounts: [...memberships.keys()],
        ...(isLimited && { secondFactorRequired: true }),
        allows(permission, on) {
          if (isLimited) return "user" in on && permission.startsWith("User Details ");
          if ("user" in on) return isUserPermission(permission);
          const role = memberships.get(on.account);
          return role !== undefined && roleAllows(role, permission);
        },
      },
      emailKey: emailKey(user.email),
      onlyWithEmail: false,
      notBefore: -Infinity,
      expiresAt: Math.min(session.expiresAt, session.lastUsedAt + sessionIdleMs),
      letsIn: () => true,
      use: { lastUsedAt: session.lastUsedAt, notedAt: -Infinity },
    };
  }

  async function readGlobalKey(user: User | undefined): Promise<CachedCaller | undefined> {
    if (user === undefined) return undefined;
    const grants = grantsOf(fullAccessPolicies(user.id), { user: user.id });
    return {
      ...cachedCallerOf(user, { tokenId: user.id, grants, memberships: await rolesOfUser(tables, user.id) }),
      onlyWithEmail: true,
      notBefore: -Infinity,
      expiresAt: Infinity,
      letsIn: () => true,
    };
  }

  /** Resolves with the caller of an id that does not belong to a token. For a global key, the id is the user's. */
  const readOther = async (id: string): Promise<CachedCaller | undefined> =>
    (await readSession(await findSession(tables, id))) ?? readGlobalKey(await findUser(tables, id));

  async function readS3Credentials(id: string): Promise<(CachedCaller & { secret: string }) | undefined> {
    const sealedSecret = secrets && (await findS3Secret(tables, id));
    const token = sealedSecret == null ? undefined : await findToken(tables, id, clock.now());
    const entry = token && (await readToken(token));
    return entry && { ...entry, secret: secrets!.open(sealedSecret!, s3SecretContext(id)) };
  }

  const callers = createReadThroughCache({ read, clock, max: MAX_CALLERS, ttlMs: CALLER_TTL_MS });
  const s3Keys = createReadThroughCache({ read: readS3Credentials, clock, max: MAX_CALLERS, ttlMs: CALLER_TTL_MS });

  function admit(entry: CachedCaller, ip: string | undefined): Caller | undefined {
    const now = clock.now();
    if (now < entry.notBefore || now >= entry.expiresAt) return undefined;
    if (!entry.letsIn(ip)) throw accountErrors.wrongAddress({ ip: ip ?? "unknown" });
    return entry.caller;
  }

  const lacksS3Secret = ({ hasS3Secret }: CachedCaller) => secrets !== undefined && hasS3Secret === false;

  /** Stores the S3 secret of an older token: its value is known only while it is being used. */
  async function addS3Secret(entry: CachedCaller, value: string): Promise<void> {
    if (!lacksS3Secret(entry)) return;
    entry.hasS3Secret = true;
    const { tokenId } = entry.caller;
    const sealedSecret = sealValue(tokenId, value);
    await db
      .transaction<AccountTables, void>((tx) => setS3Secret(tx, tokenId, sealedSecret))
      // The next request with this token will retry.
      .catch(() => void (entry.hasS3Secret = false));
  }

  function note({ use, caller: { tokenId, sessionId } }: CachedCaller, ip: string | undefined): void {
    const now = clock.now();
    if (use === undefined || now - use.notedAt < LAST_USED_INTERVAL_MS) return;
    use.notedAt = now;
    if (sessionId === undefined) lastUsed.record(tokenId, use.lastUsedAt, now);
    else sessionUses.record(sessionId, use.lastUsedAt, { at: now, ip: ip ?? null });
  }

  return {
    async authenticate({ secret, email, ip }) {
      const entry = await callers.get(keyOf(secret));
      if (entry === undefined) return undefined;
      if (email === undefined ? entry.onlyWithEmail : entry.emailKey !== emailKey(email)) return undefined;
      const caller = admit(entry, ip);
      if (caller === undefined) return undefined;
      note(entry, ip);
      await addS3Secret(entry, secret);
      return caller;
    },
    authenticateCached({ secret, ip }) {
      const entry = callers.peek(keyOf(secret));
      if (entry === undefined || entry.onlyWithEmail || lacksS3Secret(entry) || !entry.letsIn(ip)) return undefined;
      const caller = admit(entry, ip);
      if (caller !== undefined) note(entry, ip);
      return caller;
    },
    async s3Credentials(accessKeyId, ip) {
      const entry = await s3Keys.get(accessKeyId);
      const caller = entry && admit(entry, ip);
      return caller && { caller, secret: entry!.secret, recordUse: () => note(entry!, ip) };
    },
    isKnown: (secret) => callers.has(keyOf(secret)),
    async stillValid(tokenId, since) {
      const now = clock.now();
      const token = await findToken(tables, tokenId, now);
      const entry =
        token === undefined ? await readOther(tokenId) : token.modifiedAt > since ? undefined : await readToken(token);
      return entry !== undefined && now >= entry.notBefore && now < entry.expiresAt ? entry.caller : undefined;
    },
    forgetToken(id) {
      callers.forget(({ caller }) => caller.tokenId === id);
      s3Keys.forget(({ caller }) => caller.tokenId === id);
    },
    forgetAll() {
      callers.forget(() => true);
      s3Keys.forget(() => true);
    },
  };
}

const SESSION_KEY = "session ";
const keyOf = (secret: string) => (isSessionSecret(secret) ? SESSION_KEY : "") + hashSecret(secret);

const userPermissions = new Set(permissionGroups.filter(({ scope }) => scope === "user").map(({ name }) => name));
const isUserPermission = (permission: Permission) => userPermissions.has(permission);

/** `memberships`: the roles of the user who owns the token, or the account that owns it, which has no role. */
function cachedCallerOf(
  user: User,
  {
    tokenId,
    grants,
    memberships,
  }: { tokenId: string; grants: Grant[]; memberships: ReadonlyMap<string, Role> | string },
): Pick<CachedCaller, "caller" | "emailKey"> {
  const owned = typeof memberships === "string" ? [memberships] : [...memberships.keys()];
  const isGranted = compileGrants(grants, new Set(owned));
  return {
    caller: {
      tokenId,
      user: { id: user.id, email: user.email },
      accounts: reachableAccountsOf(grants, owned),
      deniedZones: deniedZonesOf(grants),
      allows:
        typeof memberships === "string"
          ? isGranted
          : (permission, on) =>
              isGranted(permission, on) && ("user" in on || roleAllows(memberships.get(on.account)!, permission)),
    },
    emailKey: emailKey(user.email),
  };
}

/** Accounts in which at least one permission is granted. A zone specified without its account yields none. */
function reachableAccountsOf(grants: Grant[], owned: string[]): string[] {
  const allowed = grants.filter(({ effect }) => effect === "allow").map(({ resource }) => resource);
  if (allowed.some(({ kind }) => kind === "every account" || kind === "every zone")) return owned;
  const namedAccounts = new Set(allowed.flatMap((place) => ("account" in place ? [place.account] : [])));
  return owned.filter((id) => namedAccounts.has(id));
}

const deniedZonesOf = (grants: Grant[]): string[] => [
  ...new Set(
    grants.flatMap(({ effect, resource }) => (effect === "deny" && "zone" in resource ? [resource.zone] : [])),
  ),
];
