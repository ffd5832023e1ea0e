import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { expectErrorKind, rolePolicies, setUp } from "../accounts.testing.ts";
import type { Caller } from "../caller.ts";
import type { Role } from "../roles.ts";
import type { InvitationEmail } from "./types.ts";

const DAY_MS = 24 * 3_600_000;
const FIRST_PAGE = { page: 1, perPage: 100 };

export function membersConformance(engine: TestEngine): void {
  async function open(t: TestContext, limits: { members?: number } = {}) {
    const parts = await setUp(engine, t, { limits });
    const { module, first, admin } = parts;
    const account = first.account.id;
    // The first user is the oldest one.
    parts.clock.advance(1);
    const sent: InvitationEmail[] = [];
    const outcome: { failure?: Error } = {};
    module.members.onInvitation(async (email) => {
      if (outcome.failure !== undefined) throw outcome.failure;
      sent.push(email);
    });
    const { members } = module;
    const invite = (email: string, role: Role = "viewer") => members.invite(admin, account, { email, role });
    const emails = async () => (await members.list(account, FIRST_PAGE)).items.map(({ user }) => user.email).sort();
    /** Resolves with a caller with one token for everything that the user may do. */
    const callerOf = async (user: { id: string; email: string }): Promise<Caller> => ({
      ...admin,
      user: { id: user.id, email: user.email },
    });
    return { ...parts, members, account, sent, outcome, invite, emails, callerOf };
  }

  describe("members", () => {
    test("are invited by email, and join once with the secret from the email", async (t) => {
      const { members, module, account, sent, invite, clock, first, emails } = await open(t);
      const invited = await invite("Bob@example.com", "editor");
      const expiresAt = clock.now() + 7 * DAY_MS;
      const [{ secret, ...email }] = sent as [InvitationEmail];
      assert.deepEqual(email, {
        to: "Bob@example.com",
        account: "Home",
        invitedBy: "Ann@example.com",
        role: "editor",
        expiresAt,
      });
      assert.deepEqual(invited, {
        id: invited.id,
        account,
        user: { id: invited.user.id, email: "Bob@example.com", firstName: null, lastName: null },
        role: "editor",
        status: "pending",
        invitation: { invitedBy: "Ann@example.com", sentAt: clock.now(), expiresAt },
      });
      const found = await members.invitations.find(secret);
      assert.deepEqual([found.account.name, found.user.email, found.role], ["Home", "Bob@example.com", "editor"]);

      const { user, isNew } = await members.invitations.accept(secret, { ip: "192.0.2.7" });
      assert.deepEqual([user.id, isNew], [invited.user.id, true]);
      const { status, invitation } = await members.get(account, invited.id);
      assert.deepEqual([status, invitation], ["accepted", undefined]);
      assert.deepEqual(await emails(), ["Ann@example.com", "Bob@example.com"]);
      await assert.rejects(members.invitations.accept(secret), expectErrorKind("badInvitation"));
      await assert.rejects(members.invitations.find(secret), expectErrorKind("badInvitation"));
      const { items } = await module.audit.list({ account }, { operation: "accept-invitation" }, FIRST_PAGE);
      assert.deepEqual([items[0]!.actor!.email, items[0]!.ip], ["Bob@example.com", "192.0.2.7"]);
      assert.notEqual(first.user.id, user.id);
    });

    test("accept or reject an invitation with their own session instead", async (t) => {
      const { members, module, account, invite, callerOf, sent } = await open(t);
      const bob = await invite("bob@example.com");
      const eve = await invite("eve@example.com", "administrator");
      const { invitations } = members;
      assert.deepEqual(
        (await invitations.list(bob.user.id)).map(({ id, invitedBy }) => [id, invitedBy]),
        [[bob.id, "Ann@example.com"]],
      );
      await assert.rejects(invitations.get(eve.user.id, bob.id), expectErrorKind("noInvitation"));
      await assert.rejects(invitations.answer(eve.user.id, bob.id, "accepted"), expectErrorKind("noInvitation"));
      await invitations.answer(bob.user.id, bob.id, "accepted");
      await invitations.answer(eve.user.id, eve.id, "rejected");
      assert.deepEqual(
        [(await members.get(account, bob.id)).status, (await members.get(account, eve.id)).status],
        ["accepted", "rejected"],
      );
      // A rejected invitation cannot be accepted later in any way.
      await assert.rejects(invitations.accept(sent[1]!.secret), expectErrorKind("badInvitation"));
      await assert.rejects(
        module.memberships.setStatus(await callerOf(eve.user), eve.id, "accepted"),
        expectErrorKind("invitationExpired"),
      );
      assert.equal((await invite("eve@example.com")).id, eve.id);
      assert.equal(
        (await module.memberships.setStatus(await callerOf(eve.user), eve.id, "accepted")).membership.status,
        "accepted",
      );
    });

    test("cannot join after seven days, until the invitation is sent again", async (t) => {
      const { members, module, admin, account, invite, sent, clock, callerOf } = await open(t);
      const { id, user } = await invite("bob@example.com");
      clock.advance(7 * DAY_MS);
      await assert.rejects(members.invitations.accept(sent[0]!.secret), expectErrorKind("badInvitation"));
      await assert.rejects(members.invitations.answer(user.id, id, "accepted"), expectErrorKind("invitationExpired"));
      await assert.rejects(
        module.memberships.setStatus(await callerOf(user), id, "accepted"),
        expectErrorKind("invitationExpired"),
      );
      const again = await members.resend(admin, account, id);
      assert.equal(again.invitation!.expiresAt, clock.now() + 7 * DAY_MS);
      await assert.rejects(members.invitations.accept(sent[0]!.secret), expectErrorKind("badInvitation"));
      assert.equal((await members.invitations.accept(sent[1]!.secret)).isNew, true);
      await assert.rejects(members.resend(admin, account, id), expectErrorKind("notInvited"));
    });

    test("are not invited twice, without a valid address, or if the email cannot be sent", async (t) => {
      const { db, members, account, invite, outcome, emails } = await open(t, { members: 3 });
      await assert.rejects(invite("ann@EXAMPLE.com"), expectErrorKind("memberExists"));
      await assert.rejects(invite("bob"), expectErrorKind("badAccount"));
      outcome.failure = new Error("refused");
      await assert.rejects(invite("bob@example.com"), /refused/);
      assert.deepEqual(await emails(), ["Ann@example.com"]);
      delete outcome.failure;
      const { id } = await invite("bob@example.com");
      await assert.rejects(invite("BOB@example.com"), expectErrorKind("alreadyInvited"));
      await invite("carl@example.com");
      await assert.rejects(invite("dave@example.com"), expectErrorKind("tooManyMembers"));
      await members.remove(account, id);
      await invite("dave@example.com");
      // A cancelled invitation leaves no user.
      const users = await db.tables<{ users: { email: string } }>().selectFrom("users").select("email").execute();
      assert.deepEqual(users.map(({ email }) => email).sort(), [
        "Ann@example.com",
        "carl@example.com",
        "dave@example.com",
      ]);
    });

    test("are invited at most 100 times a day", async (t) => {
      const { members, account, invite, clock } = await open(t);
      for (let number = 0; number < 100; number++) await members.remove(account, (await invite("bob@example.com")).id);
      await assert.rejects(invite("bob@example.com"), expectErrorKind("tooManyInvitations"));
      clock.advance(DAY_MS);
      await invite("bob@example.com");
    });

    test("always leave an administrator in the account", async (t) => {
      const { members, module, admin, account, invite, sent } = await open(t);
      const ann = (await members.list(account, FIRST_PAGE)).items[0]!.id;
      const bob = await invite("bob@example.com", "administrator");
      for (const last of [
        () => members.remove(account, ann),
        () => members.setRole(admin, account, ann, "viewer"),
        () => module.memberships.delete(admin, ann),
      ])
        await assert.rejects(last(), expectErrorKind("lastAdministrator"), "a pending administrator does not count");
      await members.invitations.accept(sent[0]!.secret);
      assert.equal((await members.setRole(admin, account, ann, "viewer")).role, "viewer");
      await assert.rejects(members.remove(account, bob.id), expectErrorKind("lastAdministrator"));
      await members.remove(account, ann);
      await assert.rejects(members.get(account, ann), expectErrorKind("noMembership"));
      await assert.rejects(members.get("0".repeat(32), bob.id), expectErrorKind("noMembership"));
    });

    test("get no role with more permissions than the caller's token", async (t) => {
      const { members, module, account, admin, caller, mine, invite } = await open(t);
      const token = async (role: Role) => {
        const [onAccount, onZones] = rolePolicies(role, account);
        return caller(
          (await module.tokens.create(mine, { name: role, policies: [onAccount!, onZones!] }, admin)).value,
        );
      };
      const editor = await token("editor");
      const { id } = await invite("bob@example.com");
      const request = (role: Role) => ({ email: "carl@example.com", role });
      for (const call of [
        members.invite(editor, account, request("administrator")),
        members.setRole(editor, account, id, "administrator"),
      ])
        await assert.rejects(call, expectErrorKind("exceedsRole"));
      await members.setRole(editor, account, id, "editor");
      await members.invite(editor, account, request("viewer"));
      const viewer = await token("viewer");
      await assert.rejects(members.resend(viewer, account, id), expectErrorKind("exceedsRole"));
      assert.equal(
        (
          await members.invite(await token("administrator"), account, {
            email: "eve@example.com",
            role: "administrator",
          })
        ).role,
        "administrator",
      );
    });

    test("are listed in the requested order, and by status", async (t) => {
      const { members, account, invite } = await open(t);
      for (const email of ["carl@example.com", "bob@example.com"]) await invite(email);
      const list = async (query: Parameters<typeof members.list>[2], page = FIRST_PAGE) => {
        const { items, total } = await members.list(account, page, query);
        return [total, ...items.map(({ user }) => user.email)];
      };
      assert.deepEqual(await list({ order: "user.email" }), [
        3,
        "Ann@example.com",
        "bob@example.com",
        "carl@example.com",
      ]);
      assert.deepEqual(await list({ order: "user.email", direction: "desc" }, { page: 1, perPage: 1 }), [
        3,
        "carl@example.com",
      ]);
      assert.deepEqual(await list({ status: "accepted" }), [1, "Ann@example.com"]);
      assert.deepEqual(await list({ status: "pending", order: "user.email" }), [
        2,
        "bob@example.com",
        "carl@example.com",
      ]);
    });

    test("lose access when the account is deleted", async (t) => {
      const { module, admin, invite, members } = await open(t);
      const other = await module.accounts.create(admin, { name: "Other" });
      const [again] = [await module.authenticate({ secret: (await module.createAdminToken()).token })];
      await members.invite(again!, other.id, { email: "bob@example.com", role: "viewer" });
      await module.accounts.delete(other.id);
      const { user } = await invite("bob@example.com");
      assert.equal((await members.invitations.list(user.id)).length, 1);
    });
  });
}
