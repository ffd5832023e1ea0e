import { isDeepStrictEqual } from "node:util";
import { offsetOf, type Clock, type Ids, type Page, type PageRequest } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import type { Caller } from "../caller.ts";
import { accountErrors } from "../errors.ts";
import type { AccountLimits } from "../types.ts";
import { rolesOfUser } from "../accounts-table.ts";
import { roleAllows } from "../roles.ts";
import { findSession } from "../sessions/sessions-table.ts";
import { fullAccessPolicies } from "./everything.ts";
import { findExceedingGrant, grantsOf, type Grant } from "./grants.ts";
import { checkIpCondition } from "./ip-condition.ts";
import { describeResource } from "./policy-resources.ts";
import { checkPolicies } from "./policies.ts";
import {
  countTokens,
  deleteToken,
  findToken,
  insertToken,
  listTokens,
  setTokenValue,
  updateToken,
} from "./tokens-table.ts";
import type { Policy, Token, TokenOwner, TokenRequest } from "./types.ts";
import { makeTokenValue, type SealValue } from "./value.ts";
import type { AccountTables, AccountsExecutor } from "../tables.ts";

export interface Tokens {
  /** Includes expired tokens only with `includeExpired`. */
  list(
    owner: TokenOwner,
    page: PageRequest,
    options?: { includeExpired?: boolean; direction?: "asc" | "desc" },
  ): Promise<Page<Token>>;
  /** Throws noToken if the owner does not have the token, like the following functions. */
  get(owner: TokenOwner, id: string): Promise<Token>;
  /**
   * Only this function returns `value`. Throws badToken, tooManyTokens, `exceeds` if the caller lacks a permission, and
   * `outlasts` if the caller's token has a shorter validity or fewer allowed addresses.
   */
  create(owner: TokenOwner, request: TokenRequest, by: Caller): Promise<{ token: Token; value: string }>;
  update(owner: TokenOwner, id: string, request: TokenRequest, by: Caller): Promise<Token>;
  /**
   * Returns a new value; the old one stops working immediately. Throws unless the caller has all permissions of the
   * token.
   */
  roll(owner: TokenOwner, id: string, by: Caller): Promise<string>;
  delete(owner: TokenOwner, id: string): Promise<void>;
  /**
   * Resolves with the caller's token. Throws invalidToken if it belongs to the other kind of owner or to another
   * account.
   */
  verify(by: Caller, owner: "user" | { account: string }): Promise<Token>;
}

interface TokensDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
  limits: Pick<AccountLimits, "userTokens" | "accountTokens">;
  sealValue: SealValue;
  /** Called after a change is committed and before the response is sent. */
  onChanged(token: string): void;
}

export function createTokens({ db, clock, ids, limits, sealValue, onChanged }: TokensDeps): Tokens {
  const tables = db.tables<AccountTables>();
  const transaction = <Result>(work: (tx: AccountsExecutor) => Promise<Result>) =>
    db.transaction<AccountTables, Result>(work);

  async function find(tx: AccountsExecutor, owner: TokenOwner, id: string): Promise<Token> {
    const token = await findToken(tx, id, clock.now());
    if (token === undefined || !sameOwner(token.owner, owner)) throw accountErrors.noToken({ id });
    return token;
  }

  async function rejectBroaderToken(
    tx: AccountsExecutor,
    by: Caller,
    { policies, expiresAt, ip }: Pick<Token, "policies" | "expiresAt" | "ip">,
    owner: TokenOwner,
  ): Promise<void> {
    const callerLimits = await readCallerLimits(tx, by);
    if (callerLimits.expiresAt !== null && (expiresAt === null || expiresAt > callerLimits.expiresAt))
      throw accountErrors.outlasts({ bound: "its expires_on, or an earlier one" });
    if (callerLimits.ip !== null && !isDeepStrictEqual(ip, callerLimits.ip))
      throw accountErrors.outlasts({ bound: "its condition.request_ip" });
    if ("account" in owner && !(await mayCreateAccountTokens(tx, by, owner.account)))
      throw accountErrors.notAllowed({ why: "Only an administrator of the account can create or change its tokens." });
    const exceedingGrant = findExceedingGrant(grantsOf(policies, owner), callerLimits.grants);
    if (exceedingGrant !== undefined)
      throw accountErrors.exceeds({
        permission: JSON.stringify(exceedingGrant.permission),
        place: describeResource(exceedingGrant.resource),
      });
  }

  // Later role changes do not affect account tokens, so the role is read within the transaction.
  async function mayCreateAccountTokens(tx: AccountsExecutor, { tokenId, user }: Caller, account: string) {
    const token = await findToken(tx, tokenId, clock.now());
    if (token !== undefined && "account" in token.owner) return true;
    const role = (await rolesOfUser(tx, user.id)).get(account);
    return role !== undefined && roleAllows(role, "Account API Tokens Write");
  }

  // Reads the permissions again: they may have been revoked after the request began.
  async function readCallerLimits(
    tx: AccountsExecutor,
    { tokenId, sessionId, user }: Caller,
  ): Promise<Pick<Token, "expiresAt" | "ip"> & { grants: Grant[] }> {
    if (sessionId !== undefined && (await findSession(tx, sessionId)) === undefined) throw accountErrors.invalidToken();
    // A token of a user is limited to the user's role at each use, so its policies may name more.
    if (tokenId === user.id || sessionId !== undefined)
      return { grants: grantsOf(fullAccessPolicies(user.id), { user: user.id }), expiresAt: null, ip: null };
    const token = await findToken(tx, tokenId, clock.now());
    if (token?.status !== "active") throw accountErrors.invalidToken();
    return { ...token, grants: grantsOf(token.policies, token.owner) };
  }

  return {
    async list(owner, page, { includeExpired = false, direction = "asc" } = {}) {
      const { tokens, total } = await listTokens(tables, owner, {
        now: clock.now(),
        includeExpired,
        direction,
        limit: page.perPage,
        offset: offsetOf(page),
      });
      return { items: tokens, total };
    },
    get: (owner, id) => find(tables, owner, id),
    async create(owner, request, by) {
      const value = makeTokenValue(ids);
      const now = clock.now();
      if (request.expiresAt != null && request.expiresAt <= now)
        throw accountErrors.badToken({ field: "expires_on", reason: "it is in the past" });
      const token: Token = {
        ...checkRequest(request, { owner, ids, now }),
        id: ids.hex(),
        owner,
        createdBy: by.user.id,
        status: request.status === "disabled" ? "disabled" : "active",
        issuedAt: now,
        lastUsedAt: null,
      };
      const limit = "user" in owner ? limits.userTokens : limits.accountTokens;
      await transaction(async (tx) => {
        await rejectBroaderToken(tx, by, token, owner);
        if ((await countTokens(tx, owner)) >= limit) throw accountErrors.tooManyTokens({ limit });
        await insertToken(tx, token, sealValue(token.id, value));
      });
      return { token, value };
    },
    async update(owner, id, request, by) {
      const token = await transaction(async (tx) => {
        const old = await find(tx, owner, id);
        const now = clock.now();
        const status = request.status === "active" || request.status === "disabled" ? request.status : old.status;
        const next: Token = { ...old, ...checkRequest(request, { owner, ids, now, known: old.policies }), status };
        await rejectBroaderToken(tx, by, next, owner);
        await updateToken(tx, next);
        return find(tx, owner, id);
      });
      onChanged(id);
      return token;
    },
    async roll(owner, id, by) {
      const value = makeTokenValue(ids);
      await transaction(async (tx) => {
        const token = await find(tx, owner, id);
        await rejectBroaderToken(tx, by, token, owner);
        await setTokenValue(tx, id, sealValue(id, value), clock.now());
      });
      onChanged(id);
      return value;
    },
    async delete(owner, id) {
      await transaction(async (tx) => {
        await find(tx, owner, id);
        await deleteToken(tx, id);
      });
      onChanged(id);
    },
    async verify(by, owner) {
      const token = await findToken(tables, by.tokenId, clock.now());
      const right = token !== undefined && (owner === "user" ? "user" in token.owner : sameOwner(token.owner, owner));
      if (!right) throw accountErrors.invalidToken();
      return token;
    },
  };
}

/** Returns a user token with every permission on everything, as created during the first run. */
export function makeAdminToken({
  ids,
  now,
  user,
  name,
  value = makeTokenValue(ids),
}: {
  ids: Ids;
  now: number;
  user: string;
  name: string;
  value?: string;
}): { token: Token; value: string } {
  const policies = fullAccessPolicies(user).map((policy) => ({ ...policy, id: ids.hex() }));
  return {
    value,
    token: {
      id: ids.hex(),
      owner: { user },
      createdBy: user,
      name,
      status: "active",
      policies,
      ip: null,
      notBefore: null,
      expiresAt: null,
      issuedAt: now,
      modifiedAt: now,
      lastUsedAt: null,
    },
  };
}

function checkRequest(
  request: TokenRequest,
  { owner, ids, now, known = [] }: { owner: TokenOwner; ids: Ids; now: number; known?: readonly Policy[] },
): Pick<Token, "name" | "policies" | "ip" | "notBefore" | "expiresAt" | "modifiedAt"> {
  const { notBefore = null, expiresAt = null } = request;
  if (notBefore !== null && expiresAt !== null && notBefore >= expiresAt)
    throw accountErrors.badToken({ field: "not_before", reason: "it must be before expires_on" });
  return {
    name: request.name,
    policies: checkPolicies(request.policies, { owner, ids, known }),
    ip: checkIpCondition(request.ip),
    notBefore,
    expiresAt,
    modifiedAt: now,
  };
}

const sameOwner = (a: TokenOwner, b: TokenOwner) =>
  "user" in a ? "user" in b && a.user === b.user : "account" in b && a.account === b.account;
