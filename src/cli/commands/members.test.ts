import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { ACCOUNT, folderWith, runCli, startFakeApi } from "../cli.testing.ts";

const ROLES = [
  { id: "a1", name: "Super Administrator - All Privileges" },
  { id: "e1", name: "Editor" },
  { id: "v1", name: "Viewer" },
];
const BASE = `/accounts/${ACCOUNT}`;
const member = (id: string, email: string, role: number, status = "accepted") => ({
  id,
  status,
  roles: [ROLES[role]!],
  user: { email, first_name: null, last_name: null },
  ...(status === "pending" && {
    invitation: { invited_by: "ann@example.com", expires_on: "2030-01-08T00:00:00.000Z" },
  }),
});

async function setUp(t: TestContext) {
  const api = await startFakeApi(t, {
    [`GET ${BASE}`]: { result: { name: "Main", settings: { enforce_twofactor: false } } },
    [`PUT ${BASE}`]: { result: { name: "Main", settings: { enforce_twofactor: true } } },
    [`GET ${BASE}/roles`]: { result: ROLES },
    [`GET ${BASE}/members`]: {
      result: [member("m1", "Ann@example.com", 0), member("m2", "carl@example.com", 2, "pending")],
      result_info: { page: 1, per_page: 1000, total_count: 2 },
    },
    [`POST ${BASE}/members`]: { result: member("m3", "bob@example.com", 1, "pending") },
    [`PUT ${BASE}/members/m1`]: { result: member("m1", "Ann@example.com", 1) },
    [`PUT ${BASE}/members/m2`]: { result: member("m2", "carl@example.com", 1, "pending") },
    [`POST ${BASE}/members/m2/resend`]: { result: member("m2", "carl@example.com", 1, "pending") },
    [`DELETE ${BASE}/members/m1`]: { result: { id: "m1" } },
  });
  const cwd = await folderWith(t);
  const run = (...args: string[]) => runCli(["members", ...args], { cwd, api });
  return { api, run };
}

test("lists members and invitations", async (t) => {
  const { run } = await setUp(t);
  const { stdout } = await run("list");
  assert.match(stdout, /^m1 +Ann@example\.com +Super Administrator - All Privileges +accepted$/m);
  assert.match(stdout, /^m2 +carl@example\.com +Viewer +pending +2030-01-08 00:00:00 UTC$/m);
});

test("invites with the id of the role, and sends a pending invitation again", async (t) => {
  const { api, run } = await setUp(t);
  const { stdout } = await run("invite", "bob@example.com", "--role", "editor");
  assert.equal(stdout.trim(), "Invited bob@example.com as Editor, until 2030-01-08 00:00:00 UTC");
  await run("invite", "Carl@example.com", "--role", "editor");
  await run("invite", "carl@example.com");
  assert.deepEqual(api.bodies(`POST ${BASE}/members`), [{ email: "bob@example.com", roles: ["e1"] }]);
  assert.deepEqual(api.bodies(`PUT ${BASE}/members/m2`), [{ roles: [{ id: "e1" }] }]);
  assert.equal(api.calls().filter((call) => call === `POST ${BASE}/members/m2/resend`).length, 2);
});

test("changes a role and removes a member, by email address", async (t) => {
  const { api, run } = await setUp(t);
  assert.equal(
    (await run("update", "ann@EXAMPLE.com", "--role", "editor")).stdout.trim(),
    "Ann@example.com is now Editor",
  );
  assert.deepEqual(api.bodies(`PUT ${BASE}/members/m1`), [{ roles: [{ id: "e1" }] }]);
  const refused = await run("remove", "m1");
  assert.equal(refused.code, 1);
  assert.equal((await run("remove", "m1", "--yes")).stdout.trim(), "Removed Ann@example.com");
  assert.ok(api.calls().includes(`DELETE ${BASE}/members/m1`));
  const unknown = await run("remove", "unknown@example.com", "--yes");
  assert.equal(unknown.code, 1);
  assert.match(unknown.stderr, /the account has no such member/);
  assert.match((await run("update", "m1")).stderr, /Pass --role/);
});

test("shows and changes whether members must use two-factor authentication", async (t) => {
  const { api, run } = await setUp(t);
  assert.equal((await run("two-factor", "get")).stdout, "Main does not require two-factor authentication\n");
  assert.equal((await run("two-factor", "enable")).stdout, "Main requires two-factor authentication\n");
  assert.equal((await run("two-factor", "disable")).code, 1);
  assert.equal((await run("two-factor", "disable", "--yes")).code, 0);
  assert.deepEqual(
    api.bodies(`PUT ${BASE}`),
    [true, false].map((enforce_twofactor) => ({ name: "Main", settings: { enforce_twofactor } })),
  );
});
