import type { Clock } from "../../kernel/index.ts";
import { createReadThroughCache } from "../../kernel/recent.ts";
import type { Db } from "../../store/index.ts";
import { accountsOfUser, emailKey, findUser, findUserByGlobalKey } from "../accounts-table.ts";
import type { Caller } from "../caller.ts";
import { accountErrors } from "../errors.ts";
import type { User } from "../types.ts";
import { fullAccessPolicies } from "./everything.ts";
import { compile, grantsOf, type Grant } from "./grants.ts";
import { ipMatcher } from "./ip-condition.ts";
import type { LastUsed } from "./last-used.ts";
import { findToken, findTokenByHash } from "./tokens-table.ts";
import type { Token } from "./types.ts";
import { hashSecret } from "./value.ts";
import type { AccountTables } from "../tables.ts";

export interface TokenAuthenticator {
  /**
   * The caller behind a token, or behind a user's address with the global key or one of the user's tokens. Undefined if
   * unknown, revoked, disabled, expired or not yet valid. Throws wrongAddress.
   */
  authenticate(credentials: { secret: string; email?: string; ip?: string }): Promise<Caller | undefined>;
  /** True if the cache holds this value as a valid token. Does not read the database. */
  isKnown(secret: string): boolean;
  /**
   * The caller of a token id, for a session opened at `since`. Undefined if the token is revoked, disabled, not valid
   * now, or changed after `since`. Reads the database.
   */
  stillValid(tokenId: string, since: number): Promise<Caller | undefined>;
  /** Call this when the token has changed. */
  forgetToken(id: string): void;
  /** Call this when users or memberships have changed, or when notifications may have been lost. */
  forgetAll(): void;
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
  token?: { lastUsedAt: number | null; notedAt: number };
}

/** Maximum number of cached callers. */
const MAX_CALLERS = 2000;
/** Changes invalidate entries immediately; this limit covers lost notifications. */
const FRESH_MS = 5000;
/** Minimum interval between updates of a token's last use. */
const NOTE_MS = 10_000;

export function createTokenAuthenticator({
  db,
  clock,
  lastUsed,
}: {
  db: Db;
  clock: Clock;
  lastUsed: LastUsed;
}): TokenAuthenticator {
  const tables = db.tables<AccountTables>();

  async function read(secretHash: string): Promise<CachedCaller | undefined> {
    const token = await findTokenByHash(tables, secretHash, clock.now());
    return token === undefined ? readGlobalKey(await findUserByGlobalKey(tables, secretHash)) : readToken(token);
  }

  async function readToken(token: Token): Promise<CachedCaller | undefined> {
    if (token.status === "disabled") return undefined;
    const user = await findUser(tables, token.createdBy);
    if (user === undefined) return undefined;
    const owned = "account" in token.owner ? [token.owner.account] : await accountsOfUser(tables, token.owner.user);
    return {
      ...known(user, { tokenId: token.id, grants: grantsOf(token.policies, token.owner), owned }),
      onlyWithEmail: false,
      notBefore: token.notBefore ?? -Infinity,
      expiresAt: token.expiresAt ?? Infinity,
      letsIn: ipMatcher(token.ip),
      token: { lastUsedAt: token.lastUsedAt, notedAt: -Infinity },
    };
  }

  async function readGlobalKey(user: User | undefined): Promise<CachedCaller | undefined> {
    if (user === undefined) return undefined;
    const owned = await accountsOfUser(tables, user.id);
    const all = { tokenId: user.id, grants: grantsOf(fullAccessPolicies(user.id), { user: user.id }), owned };
    return { ...known(user, all), onlyWithEmail: true, notBefore: -Infinity, expiresAt: Infinity, letsIn: () => true };
  }

  const callers = createReadThroughCache({ read, clock, max: MAX_CALLERS, ttlMs: FRESH_MS });

  function note(entry: CachedCaller, now: number): void {
    if (entry.token === undefined || now - entry.token.notedAt < NOTE_MS) return;
    entry.token.notedAt = now;
    lastUsed.record(entry.caller.tokenId, entry.token.lastUsedAt);
  }

  return {
    async authenticate({ secret, email, ip }) {
      const entry = await callers.get(hashSecret(secret));
      if (entry === undefined) return undefined;
      if (email === undefined ? entry.onlyWithEmail : entry.emailKey !== emailKey(email)) return undefined;
      const now = clock.now();
      if (now < entry.notBefore || now >= entry.expiresAt) return undefined;
      if (!entry.letsIn(ip)) throw accountErrors.wrongAddress({ ip: ip ?? "unknown" });
      note(entry, now);
      return entry.caller;
    },
    isKnown: (secret) => callers.has(hashSecret(secret)),
    async stillValid(tokenId, since) {
      const now = clock.now();
      const token = await findToken(tables, tokenId, now);
      // For a global key, the token id is the user id.
      const entry =
        token === undefined
          ? await readGlobalKey(await findUser(tables, tokenId))
          : token.modifiedAt > since
            ? undefined
            : await readToken(token);
      return entry !== undefined && now >= entry.notBefore && now < entry.expiresAt ? entry.caller : undefined;
    },
    forgetToken: (id) => callers.forget(({ caller }) => caller.tokenId === id),
    forgetAll: () => callers.forget(() => true),
  };
}

function known(
  user: User,
  { tokenId, grants, owned }: { tokenId: string; grants: Grant[]; owned: string[] },
): Pick<CachedCaller, "caller" | "emailKey"> {
  return {
    caller: {
      tokenId,
      user: { id: user.id, email: user.email },
      accounts: reached(grants, owned),
      deniedZones: denied(grants),
      allows: compile(grants, new Set(owned)),
    },
    emailKey: emailKey(user.email),
  };
}

/** Accounts in which any permission is allowed. A zone specified without its account yields none. */
function reached(grants: Grant[], owned: string[]): string[] {
  const allowed = grants.filter(({ effect }) => effect === "allow").map(({ resource }) => resource);
  if (allowed.some(({ kind }) => kind === "every account" || kind === "every zone")) return owned;
  const named = new Set(allowed.flatMap((place) => ("account" in place ? [place.account] : [])));
  return owned.filter((id) => named.has(id));
}

const denied = (grants: Grant[]): string[] => [
  ...new Set(
    grants.flatMap(({ effect, resource }) => (effect === "deny" && "zone" in resource ? [resource.zone] : [])),
  ),
];
