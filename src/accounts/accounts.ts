import { offsetOf, type Clock, type Ids, type Page, type PageRequest } from "../kernel/index.ts";
import type { Db } from "../store/index.ts";
import {
  countMemberships,
  deleteAccount,
  deleteMembershipsOf,
  findAccount,
  findAccounts,
  insertAccount,
  insertMembership,
  otherAccountExists,
  updateAccount,
} from "./accounts-table.ts";
import type { Caller } from "./caller.ts";
import { accountErrors } from "./errors.ts";
import { deleteInvitationsTo } from "./members/members-table.ts";
import { deleteTokensOf } from "./tokens/tokens-table.ts";
import type { Account, AccountLimits } from "./types.ts";
import type { AccountTables } from "./tables.ts";

export interface Accounts {
  /**
   * Accounts in which the caller's token has any permission, ordered by membership, oldest first unless `direction` is
   * given.
   */
  list(
    by: Caller,
    page: PageRequest,
    options?: { name?: string | undefined; direction?: "asc" | "desc" | undefined },
  ): Promise<Page<Account>>;
  /** Throws notAllowed unless the caller's token has a permission for the account. */
  get(by: Caller, id: string): Promise<Account>;
  /** The caller's user becomes a member of the new account. Throws badAccount, tooManyAccounts. */
  create(by: Caller, request: AccountRequest): Promise<Account>;
  /** Omitted settings keep their values. Throws noAccount, badAccount. */
  update(id: string, request: AccountRequest): Promise<Account>;
  /**
   * Deletes the account with its memberships and its own tokens. Throws lastAccount, and accountNotEmpty if it holds
   * resources.
   */
  delete(id: string): Promise<void>;
}

interface AccountRequest {
  name: string;
  type?: Account["type"] | undefined;
  settings?: Partial<Account["settings"]> | undefined;
}

/**
 * A summary of the resources in an account ("2 zones, 1 worker"); undefined if the account is empty. Provided by
 * higher-level domains.
 */
export type AccountContents = (account: string) => Promise<string | undefined>;

interface AccountsDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
  limits: Pick<AccountLimits, "accounts">;
  contents: AccountContents;
  /**
   * Called after the commit of a change and before the response, with the tokens that were deleted together with an
   * account.
   */
  onChanged(account: string, tokens?: string[]): void;
}

const MAX_NAME_LENGTH = 100;

export function createAccountList({ db, clock, ids, limits, contents, onChanged }: AccountsDeps): Accounts {
  const tables = db.tables<AccountTables>();

  return {
    async list(by, page, { name, direction = "asc" } = {}) {
      const order = direction === "asc" ? by.accounts : by.accounts.toReversed();
      const start = offsetOf(page);
      if (name === undefined)
        return { items: await readInOrder(order.slice(start, start + page.perPage)), total: order.length };
      const matchingAccounts = await readInOrder(order, name);
      return { items: matchingAccounts.slice(start, start + page.perPage), total: matchingAccounts.length };
    },
    async get(by, id) {
      if (!by.accounts.includes(id))
        throw accountErrors.notAllowed({ why: "The token has no permission on this account." });
      const account = await findAccount(tables, id);
      if (account === undefined) throw accountErrors.noAccount({ id });
      return account;
    },
    async create(by, request) {
      const now = clock.now();
      const account: Account = {
        ...checkRequest(request, { enforceTwofactor: false }),
        id: ids.hex(),
        type: request.type ?? "standard",
        createdAt: now,
      };
      const membership = {
        id: ids.hex(),
        user: by.user.id,
        account: account.id,
        status: "accepted" as const,
        role: "administrator" as const,
        createdAt: now,
      };
      await db.transaction<AccountTables, void>(async (tx) => {
        if ((await countMemberships(tx, by.user.id)) >= limits.accounts)
          throw accountErrors.tooManyAccounts({ limit: limits.accounts });
        await insertAccount(tx, account);
        await insertMembership(tx, membership);
      });
      onChanged(account.id);
      return account;
    },
    async update(id, request) {
      const account = await db.transaction<AccountTables, Account>(async (tx) => {
        const old = await findAccount(tx, id);
        if (old === undefined) throw accountErrors.noAccount({ id });
        const next: Account = { ...old, ...checkRequest(request, old.settings), type: request.type ?? old.type };
        await updateAccount(tx, next);
        return next;
      });
      onChanged(id);
      return account;
    },
    async delete(id) {
      const found = await contents(id);
      if (found !== undefined) throw accountErrors.accountNotEmpty({ contents: found });
      const tokens = await db.transaction<AccountTables, string[]>(async (tx) => {
        if ((await findAccount(tx, id)) === undefined) throw accountErrors.noAccount({ id });
        if (!(await otherAccountExists(tx, id))) throw accountErrors.lastAccount();
        await deleteInvitationsTo(tx, id);
        await deleteMembershipsOf(tx, id);
        await deleteAccount(tx, id);
        return deleteTokensOf(tx, id);
      });
      onChanged(id, tokens);
    },
  };

  async function readInOrder(accountIds: readonly string[], name?: string): Promise<Account[]> {
    const found = new Map((await findAccounts(tables, accountIds, name)).map((account) => [account.id, account]));
    return accountIds.flatMap((id) => found.get(id) ?? []);
  }
}

function checkRequest(
  { name, settings }: AccountRequest,
  before: Account["settings"],
): Pick<Account, "name" | "settings"> {
  const trimmed = name.trim();
  if (trimmed === "") throw accountErrors.badAccount({ field: "name", reason: "it is empty" });
  if (trimmed.length > MAX_NAME_LENGTH)
    throw accountErrors.badAccount({ field: "name", reason: `it has more than ${MAX_NAME_LENGTH} characters` });
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(trimmed))
    throw accountErrors.badAccount({ field: "name", reason: "it contains control characters" });
  return { name: trimmed, settings: { ...before, ...settings } };
}
