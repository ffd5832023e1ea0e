import { Fault, isHexId, offsetOf, type Clock, type Ids, type Page, type PageRequest } from "../../kernel/index.ts";
import { createQuota } from "../../kernel/quota.ts";
import type { Db } from "../../store/index.ts";
import {
  deleteMembership,
  findAccount,
  findUser,
  findUserByEmail,
  insertMembership,
  insertUser,
  otherAdministratorExists,
} from "../accounts-table.ts";
import type { AuditLog } from "../audit/audit-log.ts";
import type { Caller } from "../caller.ts";
import { checkEmail } from "../email.ts";
import { accountErrors } from "../errors.ts";
import { roleAllows, type Role } from "../roles.ts";
import type { AccountTables, AccountsExecutor } from "../tables.ts";
import { permissionGroups } from "../tokens/permission-groups.ts";
import { hashSecret } from "../tokens/value.ts";
import type { Account, AccountLimits, User } from "../types.ts";
import {
  countMembers,
  countMembersWith,
  deleteInvitation,
  deleteUnusedUser,
  findInvitation,
  findInvitationBySecret,
  findMember,
  findMembershipIdOf,
  findReceivedInvitation,
  invitationsOfUser,
  listMembers,
  updateMembership,
  upsertInvitation,
  type InvitationRow,
} from "./members-table.ts";
import type { Member, MemberQuery, ReceivedInvitation, SendInvitation } from "./types.ts";

/** The members of accounts, and invitations to become one. */
export interface Members {
  list(account: string, page: PageRequest, query?: MemberQuery): Promise<Page<Member>>;
  /** Throws noMembership, like the following functions on one member. */
  get(account: string, id: string): Promise<Member>;
  /**
   * Invites the user of an email address, who need not exist yet, and sends the invitation. If it cannot be sent,
   * nothing is stored. Throws badAccount, exceedsRole, memberExists, alreadyInvited, tooManyMembers,
   * tooManyInvitations, and the error of the mail server.
   */
  invite(by: Caller, account: string, request: { email: string; role: Role }): Promise<Member>;
  /**
   * Sends an invitation again, with another secret and for another seven days. Throws notInvited, tooManyInvitations.
   */
  resend(by: Caller, account: string, id: string): Promise<Member>;
  /** Throws exceedsRole, lastAdministrator. */
  setRole(by: Caller, account: string, id: string, role: Role): Promise<Member>;
  /** Removes a member, or cancels an invitation. Throws lastAdministrator. */
  remove(account: string, id: string): Promise<void>;
  /** Sets the function that sends invitations; without one, `invite` fails. */
  onInvitation(send: SendInvitation): void;
  invitations: Invitations;
}

export interface Invitations {
  /** Resolves with the pending invitations of a user, newest first; at most 1000. Expired ones included. */
  list(user: string): Promise<ReceivedInvitation[]>;
  /** Throws noInvitation. */
  get(user: string, id: string): Promise<ReceivedInvitation>;
  /** Throws noInvitation, and invitationExpired when accepting. */
  answer(user: string, id: string, status: "accepted" | "rejected"): Promise<void>;
  /**
   * Resolves with the invitation that the secret from an email belongs to. Throws badInvitation if the secret is
   * unknown, used or expired.
   */
  find(secret: string): Promise<ReceivedInvitation>;
  /**
   * Accepts the invitation that the secret from an email belongs to, once. `isNew`: the user was created by the
   * invitation, so that the secret is all that identifies the user. Throws badInvitation.
   */
  accept(
    secret: string,
    client?: { ip?: string | undefined; userAgent?: string | undefined },
  ): Promise<{ user: User; isNew: boolean; invitation: ReceivedInvitation }>;
}

interface MembersDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
  audit: Pick<AuditLog, "record">;
  limits: Pick<AccountLimits, "members">;
  /** Called after a change is committed and before the response is sent. */
  onChanged(account: string): void;
}

const INVITATION_MS = 7 * 24 * 3_600_000;
/** Without a limit, an account that invites and cancels could mail anyone. */
const INVITATIONS_PER_DAY = 100;
const DAY_MS = 24 * 3_600_000;
const MAX_RECEIVED = 1000;

export function createMembers({ db, clock, ids, audit, limits, onChanged }: MembersDeps): Members {
  const tables = db.tables<AccountTables>();
  const transaction = <Result>(work: (tx: AccountsExecutor) => Promise<Result>) =>
    db.transaction<AccountTables, Result>(work);
  const quota = createQuota({ clock, limit: INVITATIONS_PER_DAY, perMs: DAY_MS });
  let sendInvitation: SendInvitation | undefined;

  async function find(tx: AccountsExecutor, account: string, id: string): Promise<Member> {
    const member = isHexId(id) ? await findMember(tx, account, id) : undefined;
    if (member === undefined) throw accountErrors.noMembership({ id });
    return member;
  }

  async function keepAdministrator(tx: AccountsExecutor, { id, account, role, status }: Member): Promise<void> {
    if (status === "accepted" && role === "administrator" && !(await otherAdministratorExists(tx, { id, account })))
      throw accountErrors.lastAdministrator();
  }

  /** A token grants no more than it has, and a member can do everything that the role allows. */
  function requireRole(by: Caller, account: string, role: Role): void {
    const missing = permissionGroups.find(
      ({ scope, name }) => scope !== "user" && roleAllows(role, name) && !by.allows(name, { account }),
    );
    if (missing !== undefined) throw accountErrors.exceedsRole({ role, permission: JSON.stringify(missing.name) });
  }

  function countInvitation(account: string): void {
    const retryAfter = quota.consume(account);
    if (retryAfter > 0) throw accountErrors.tooManyInvitations({ limit: INVITATIONS_PER_DAY, retryAfter });
  }

  async function userOf(tx: AccountsExecutor, email: string): Promise<{ user: User; isNew: boolean }> {
    const found = await findUserByEmail(tx, email);
    if (found !== undefined) return { user: found, isNew: false };
    const names = { firstName: null, lastName: null, telephone: null, country: null, zipcode: null };
    const user: User = { id: ids.hex(), email, ...names, hasGlobalKey: false, createdAt: clock.now() };
    await insertUser(tx, user);
    return { user, isNew: true };
  }

  const newInvitation = (secret: string, by: Caller): Omit<InvitationRow, "membershipId" | "createsUser"> => ({
    secretHash: hashSecret(secret),
    invitedBy: by.user.email,
    sentAt: clock.now(),
    expiresAt: clock.now() + INVITATION_MS,
  });

  async function send({ user, role, invitation }: Member, account: Account, secret: string): Promise<void> {
    if (sendInvitation === undefined) throw new Fault("no handler for invitations is registered");
    const { invitedBy, expiresAt } = invitation!;
    await sendInvitation({ to: user.email, account: account.name, invitedBy, role, secret, expiresAt });
  }

  async function removeMember(tx: AccountsExecutor, member: Member): Promise<void> {
    const invitation = await findInvitation(tx, member.id);
    await deleteInvitation(tx, member.id);
    await deleteMembership(tx, member.id);
    if (invitation?.createsUser === true) await deleteUnusedUser(tx, member.user.id);
  }

  async function acceptIn(tx: AccountsExecutor, id: string): Promise<void> {
    await updateMembership(tx, id, { status: "accepted" });
    await deleteInvitation(tx, id);
  }

  async function findBySecret(tx: AccountsExecutor, secret: string) {
    const row = await findInvitationBySecret(tx, hashSecret(secret));
    const invitation = row && (await findReceivedInvitation(tx, row.membershipId));
    if (row === undefined || invitation === undefined || clock.now() >= row.expiresAt)
      throw accountErrors.badInvitation();
    return { row, invitation };
  }

  const invitations: Invitations = {
    list: (user) => invitationsOfUser(tables, user, MAX_RECEIVED),
    async get(user, id) {
      const invitation = isHexId(id) ? await findReceivedInvitation(tables, id) : undefined;
      if (invitation?.user.id !== user) throw accountErrors.noInvitation({ id });
      return invitation;
    },
    async answer(user, id, status) {
      const account = await transaction(async (tx) => {
        const invitation = isHexId(id) ? await findReceivedInvitation(tx, id) : undefined;
        if (invitation?.user.id !== user) throw accountErrors.noInvitation({ id });
        if (status === "accepted" && clock.now() >= invitation.expiresAt) throw accountErrors.invitationExpired();
        // A rejected invitation is kept, so that it cannot be accepted later.
        if (status === "accepted") await acceptIn(tx, id);
        else await updateMembership(tx, id, { status });
        return invitation.account.id;
      });
      onChanged(account);
    },
    find: async (secret) => (await findBySecret(tables, secret)).invitation,
    async accept(secret, client = {}) {
      const accepted = await transaction(async (tx) => {
        const { row, invitation } = await findBySecret(tx, secret);
        await acceptIn(tx, invitation.id);
        return { user: (await findUser(tx, invitation.user.id))!, isNew: row.createsUser, invitation };
      });
      const { user, invitation } = accepted;
      onChanged(invitation.account.id);
      await audit.record({
        ...client,
        actor: user,
        interface: "dashboard",
        operation: "accept-invitation",
        summary: "Accept an invitation by its email",
        action: "update",
        account: invitation.account.id,
        resource: { type: "members", id: invitation.id },
        after: { email: user.email, role: invitation.role },
      });
      return accepted;
    },
  };

  return {
    async list(account, page, query = {}) {
      const items = await listMembers(tables, account, query, { limit: page.perPage, offset: offsetOf(page) });
      return { items, total: await countMembersWith(tables, account, query) };
    },
    get: (account, id) => find(tables, account, id),
    async invite(by, account, { email, role }) {
      checkEmail(email);
      requireRole(by, account, role);
      countInvitation(account);
      const secret = ids.token();
      const { member, owner } = await transaction(async (tx) => {
        const accountRow = await findAccount(tx, account);
        if (accountRow === undefined) throw accountErrors.noAccount({ id: account });
        const { user, isNew } = await userOf(tx, email);
        const existing = await findMembershipIdOf(tx, account, user.id);
        if (existing?.status === "accepted") throw accountErrors.memberExists({ email });
        if (existing?.status === "pending") throw accountErrors.alreadyInvited({ email });
        if (existing === undefined && (await countMembers(tx, account)) >= limits.members)
          throw accountErrors.tooManyMembers({ limit: limits.members });
        const id = existing?.id ?? ids.hex();
        if (existing !== undefined) await updateMembership(tx, id, { role, status: "pending" });
        else
          await insertMembership(tx, { id, user: user.id, account, status: "pending", role, createdAt: clock.now() });
        const createsUser = isNew || (await findInvitation(tx, id))?.createsUser === true;
        await upsertInvitation(tx, { ...newInvitation(secret, by), membershipId: id, createsUser });
        return { member: await find(tx, account, id), owner: accountRow };
      });
      try {
        await send(member, owner, secret);
      } catch (err) {
        await transaction(async (tx) => {
          const unsent = await findMember(tx, account, member.id);
          if (unsent?.status === "pending") await removeMember(tx, unsent);
        });
        throw err;
      }
      onChanged(account);
      return member;
    },
    async resend(by, account, id) {
      const { role } = await find(tables, account, id);
      requireRole(by, account, role);
      countInvitation(account);
      const secret = ids.token();
      const { member, owner } = await transaction(async (tx) => {
        const { user, status } = await find(tx, account, id);
        if (status !== "pending") throw accountErrors.notInvited({ email: user.email });
        const createsUser = (await findInvitation(tx, id))?.createsUser === true;
        await upsertInvitation(tx, { ...newInvitation(secret, by), membershipId: id, createsUser });
        return { member: await find(tx, account, id), owner: (await findAccount(tx, account))! };
      });
      await send(member, owner, secret);
      return member;
    },
    async setRole(by, account, id, role) {
      requireRole(by, account, role);
      const member = await transaction(async (tx) => {
        const before = await find(tx, account, id);
        if (role !== "administrator") await keepAdministrator(tx, before);
        await updateMembership(tx, id, { role });
        return { ...before, role };
      });
      onChanged(account);
      return member;
    },
    async remove(account, id) {
      await transaction(async (tx) => {
        const member = await find(tx, account, id);
        await keepAdministrator(tx, member);
        await removeMember(tx, member);
      });
      onChanged(account);
    },
    onInvitation(send) {
      sendInvitation = send;
    },
    invitations,
  };
}
