import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { firstErrorOf, setUpAccounts } from "./accounts.testing.ts";

interface LogEntry {
  metadata: { operation: string };
  oldValueJson?: { roles: [{ name: string }] };
  newValueJson?: { roles?: [{ name: string }]; role?: string };
}

async function setUp(t: TestContext) {
  const parts = await setUpAccounts(t);
  const sent: string[] = [];
  parts.available.members.onInvitation(async ({ secret }) => void sent.push(secret));
  const path = `/accounts/${parts.account.id}/members`;
  const roles = (await parts.call("get", `/accounts/${parts.account.id}/roles`)).body.result as {
    id: string;
    name: string;
    permissions: Record<string, { read: boolean; write: boolean }>;
  }[];
  const roleId = (name: string) => roles.find((role) => role.name.includes(name))!.id;
  const invite = (email: string, role = "Viewer") =>
    parts.call("post", path, { body: { email, roles: [roleId(role)] } });
  return { ...parts, sent, path, roles, roleId, invite };
}

test("a member is invited, listed, changed and removed", async (t) => {
  const { call, path, invite, roleId, roles, account, sent, available, user } = await setUp(t);
  const { status, body } = await invite("bob@example.com");
  assert.equal(status, 200);
  const { id, invitation, ...invited } = body.result;
  assert.deepEqual(invited, {
    email: "bob@example.com",
    status: "pending",
    roles: [roles.find(({ name }) => name === "Viewer")],
    user: { id: body.result.user.id, email: "bob@example.com", first_name: null, last_name: null },
  });
  assert.equal(invitation.invited_by, user.email);
  assert.equal(Date.parse(invitation.expires_on) - Date.parse(invitation.invited_on), 7 * 24 * 3_600_000);

  await available.members.invitations.accept(sent[0]!);
  const list = await call("get", path, { query: { order: "user.email", direction: "desc", status: "accepted" } });
  assert.deepEqual(
    list.body.result.map(({ email }: { email: string }) => email),
    ["bob@example.com", user.email],
  );
  assert.deepEqual(list.body.result_info, { page: 1, per_page: 20, count: 2, total_count: 2, total_pages: 1 });

  const editor = await call("put", `${path}/${id}`, { body: { roles: [{ id: roleId("Editor") }] } });
  assert.equal(editor.body.result.roles[0].name, "Editor");
  assert.deepEqual((await call("get", `${path}/${id}`)).body.result, editor.body.result);
  assert.deepEqual((await call("delete", `${path}/${id}`)).body.result, { id });
  assert.deepEqual(firstErrorOf(await call("get", `${path}/${id}`)), [404, 1031, `Membership ${id} not found`]);

  const log = await call("get", `/accounts/${account.id}/audit_logs`, { query: { "resource.id": id } });
  assert.deepEqual(
    (log.body.result as LogEntry[]).map(({ metadata, oldValueJson, newValueJson }) => [
      metadata.operation,
      oldValueJson?.roles[0].name,
      newValueJson?.role ?? newValueJson?.roles?.[0].name,
    ]),
    [
      ["account-members-remove-member", "Editor", undefined],
      ["account-members-update-member", "Viewer", "Editor"],
      ["accept-invitation", undefined, "viewer"],
      ["account-members-add-member", undefined, "Viewer"],
    ],
  );
  for (const secret of sent) assert.ok(!log.text.includes(secret));
});

test("an invitation is sent again", async (t) => {
  const { call, path, invite, sent } = await setUp(t);
  const { id } = (await invite("bob@example.com")).body.result;
  assert.deepEqual(firstErrorOf(await invite("bob@example.com")), [
    409,
    1081,
    "bob@example.com is already invited to the account",
  ]);
  assert.equal((await call("post", `${path}/${id}/resend`)).body.result.status, "pending");
  assert.notEqual(sent[0], sent[1]);
});

test("rejects invalid roles, policies, statuses and addresses of members, and removing the last administrator", async (t) => {
  const { call, path, roleId, invite } = await setUp(t);
  const add = async (body: object) =>
    firstErrorOf(await call("post", path, { body: { email: "bob@example.com", ...body } }));
  const viewer = roleId("Viewer");
  assert.deepEqual(await add({ roles: ["0".repeat(32)] }), [404, 1085, `Role ${"0".repeat(32)} not found`]);
  assert.deepEqual((await add({})).slice(0, 2), [400, 1086]);
  assert.deepEqual((await add({ roles: [viewer, roleId("Editor")] })).slice(0, 2), [400, 1086]);
  assert.deepEqual((await add({ policies: [] })).slice(0, 2), [400, 1086]);
  assert.deepEqual((await add({ roles: [viewer], status: "accepted" })).slice(0, 2), [400, 1086]);
  assert.deepEqual((await add({ roles: [viewer], email: "bob" })).slice(0, 2), [400, 1001]);
  assert.equal((await call("get", `${path}/%00`)).status, 404);
  const [administrator] = (await call("get", path)).body.result;
  assert.deepEqual(firstErrorOf(await call("delete", `${path}/${administrator.id}`)).slice(0, 2), [409, 1032]);
  assert.equal((await invite("bob@example.com")).status, 200);
});

test("describes the roles", async (t) => {
  const { call, roles, account } = await setUp(t);
  assert.deepEqual(
    roles.map(({ name, permissions }) => [name, permissions.organization!.write, permissions.dns!.write]),
    [
      ["Super Administrator - All Privileges", true, true],
      ["Editor", false, true],
      ["Viewer", false, false],
    ],
  );
  const path = `/accounts/${account.id}/roles`;
  assert.deepEqual((await call("get", `${path}/${roles[1]!.id}`)).body.result, roles[1]);
  assert.equal((await call("get", `${path}/unknown`)).status, 404);
});

test("a user lists and answers invitations", async (t) => {
  const { call, as, available, invite, sent } = await setUp(t);
  const { invitations } = available.members;
  // Bob is a member of one account, and is then invited to another one.
  await invite("bob@example.com");
  const { user: bob } = await invitations.accept(sent[0]!);
  const other = (await call("post", "/accounts", { body: { name: "Other" } })).body.result;
  const admin = (await available.authenticate({ secret: (await available.createAdminToken()).token }))!;
  const { id } = await available.members.invite(admin, other.id, { email: "bob@example.com", role: "editor" });
  const { value } = await available.tokens.create(
    { user: bob.id },
    {
      name: "memberships",
      policies: [
        {
          effect: "allow",
          groups: ["9201bc6f42d440968aaab0c6f17ebb1d"],
          resources: { [`com.cloudflare.api.user.${bob.id}`]: "*" },
        },
      ],
    },
    { ...admin, user: bob },
  );
  const asBob = as(value);
  const { body } = await asBob("get", "/user/invites");
  const [{ invited_on: invitedOn, expires_on: expiresOn, ...shown }, ...others] = body.result;
  assert.deepEqual(others, []);
  assert.equal(Date.parse(expiresOn) - Date.parse(invitedOn), 7 * 24 * 3_600_000);
  assert.deepEqual(shown, {
    id,
    invited_member_id: bob.id,
    invited_member_email: "bob@example.com",
    organization_id: other.id,
    organization_name: "Other",
    organization_is_enforcing_twofactor: false,
    invited_by: admin.user.email,
    roles: ["Editor"],
    status: "pending",
  });
  assert.deepEqual((await asBob("get", `/user/invites/${id}`)).body.result, body.result[0]);
  assert.deepEqual(firstErrorOf(await call("get", `/user/invites/${id}`)), [404, 1087, `Invitation ${id} not found`]);
  const accepted = await asBob("patch", `/user/invites/${id}`, { body: { status: "accepted" } });
  assert.deepEqual(accepted.body.result, { ...body.result[0], status: "accepted" });
  assert.deepEqual((await asBob("get", "/user/invites")).body.result, []);
  assert.equal((await available.members.get(other.id, id)).status, "accepted");
  const log = await call("get", `/accounts/${other.id}/audit_logs`, { query: { "actor.email": "bob@example.com" } });
  assert.deepEqual(
    log.body.result.map(({ resource }: { resource: object }) => resource),
    [{ type: "invites", id }],
  );
});
