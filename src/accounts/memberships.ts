import { offsetOf, type Clock, type Page, type PageRequest } from "../kernel/index.ts";
import type { Db } from "../store/index.ts";
import {
  deleteMembership,
  findAccount,
  findMembership,
  listMemberships,
  type MembershipQuery,
  otherAdministratorExists,
  setMembershipStatus,
} from "./accounts-table.ts";
import type { Caller } from "./caller.ts";
import { accountErrors } from "./errors.ts";
import { deleteInvitation, findInvitation } from "./members/members-table.ts";
import type { Account, Membership } from "./types.ts";
import type { AccountTables, AccountsExecutor } from "./tables.ts";

export interface MembershipWithAccount {
  membership: Membership;
  account: Account;
}

/** Memberships of the caller's user. */
export interface Memberships {
  list(by: Caller, page: PageRequest, query?: MembershipQuery): Promise<Page<MembershipWithAccount>>;
  /** Throws noMembership, like the following functions. */
  get(by: Caller, id: string): Promise<MembershipWithAccount>;
  /**
   * Throws lastAdministrator if the account has no other administrator; so does `delete`. Accepting needs an
   * invitation: throws invitationExpired.
   */
  setStatus(by: Caller, id: string, status: "accepted" | "rejected"): Promise<MembershipWithAccount>;
  delete(by: Caller, id: string): Promise<void>;
}

/** `onChanged` is called after the commit of a change and before the response. */
export function createMemberships({
  db,
  clock,
  onChanged,
}: {
  db: Db;
  clock: Pick<Clock, "now">;
  onChanged(account: string): void;
}): Memberships {
  const tables = db.tables<AccountTables>();
  const transaction = <Result>(work: (tx: AccountsExecutor) => Promise<Result>) =>
    db.transaction<AccountTables, Result>(work);

  async function find(tx: AccountsExecutor, by: Caller, id: string): Promise<MembershipWithAccount> {
    const membership = await findMembership(tx, by.user.id, id);
    const account = membership && (await findAccount(tx, membership.account));
    if (membership === undefined || account === undefined) throw accountErrors.noMembership({ id });
    return { membership, account };
  }

  async function refuseLast(tx: AccountsExecutor, membership: Membership): Promise<void> {
    const isAdministrator = membership.status === "accepted" && membership.role === "administrator";
    if (isAdministrator && !(await otherAdministratorExists(tx, membership))) throw accountErrors.lastAdministrator();
  }

  /** Users who left an account may return, but not those who rejected an invitation to it. */
  async function requireInvitation(tx: AccountsExecutor, { id, status }: Membership): Promise<void> {
    const invitation = await findInvitation(tx, id);
    const isValid =
      status === "pending" ? clock.now() < (invitation?.expiresAt ?? -Infinity) : invitation === undefined;
    if (!isValid) throw accountErrors.invitationExpired();
  }

  return {
    async list(by, page, query = {}) {
      const { rows, total } = await listMemberships(tables, by.user.id, query, {
        limit: page.perPage,
        offset: offsetOf(page),
      });
      return { items: rows, total };
    },
    get: (by, id) => find(tables, by, id),
    async setStatus(by, id, status) {
      const membershipAndAccount = await transaction(async (tx) => {
        const { membership, account } = await find(tx, by, id);
        if (status === "rejected") await refuseLast(tx, membership);
        if (status === "accepted") {
          await requireInvitation(tx, membership);
          await deleteInvitation(tx, id);
        }
        await setMembershipStatus(tx, id, status);
        return { membership: { ...membership, status }, account };
      });
      onChanged(membershipAndAccount.account.id);
      return membershipAndAccount;
    },
    async delete(by, id) {
      const account = await transaction(async (tx) => {
        const { membership } = await find(tx, by, id);
        await refuseLast(tx, membership);
        await deleteMembership(tx, id);
        await deleteInvitation(tx, id);
        return membership.account;
      });
      onChanged(account);
    },
  };
}
