import assert from "node:assert/strict";
import { test } from "node:test";
import { folderWith, runCli, startFakeApi } from "../cli.testing.ts";

const ID = "1".repeat(32);
const session = {
  id: ID,
  current: false,
  method: "password",
  two_factor: true,
  created_on: "2026-11-01T10:00:00.000Z",
  last_used_on: "2026-11-02T10:00:00.000Z",
  expires_on: "2026-12-01T10:00:00.000Z",
  ip: "192.0.2.1",
  user_agent: "Fire\u001b[31mfox",
};

test("sessions are listed without control characters, and revoked one by one or all", async (t) => {
  const api = await startFakeApi(t, {
    "GET /user/sessions": { result: [session], result_info: { page: 1, per_page: 50, count: 1, total_count: 1 } },
    [`DELETE /user/sessions/${ID}`]: { result: { id: ID } },
    "DELETE /user/sessions": { result: { revoked: 2 } },
  });
  const cwd = await folderWith(t);
  const list = await runCli(["sessions", "list"], { cwd, api });
  assert.match(list.stdout, /password and code/);
  assert.ok(!list.stdout.includes("\u001b"));
  assert.match((await runCli(["sessions", "revoke", ID, "--yes"], { cwd, api })).stdout, /^Ended 1{32}\n$/);
  assert.equal((await runCli(["sessions", "revoke", "--all", "--yes"], { cwd, api })).stdout, "Ended 2 sessions\n");
  for (const args of [[], [ID, "--all"]])
    assert.match((await runCli(["sessions", "revoke", ...args, "--yes"], { cwd, api })).stderr, /either/);
  assert.equal(api.calls().filter((call) => call.startsWith("DELETE")).length, 2);
});

test("user password prompts without echo, or reads one value per line", async (t) => {
  const api = await startFakeApi(t, { "PUT /user/password": { result: { enabled: true, changed_on: null } } });
  const cwd = await folderWith(t);
  const stdin = "old password\nnew password\n";
  assert.equal((await runCli(["user", "password", "--code", "123456"], { cwd, api, stdin })).code, 0);
  const typed = await runCli(["user", "password"], { cwd, api, typed: ["old\r", "new\r"] });
  assert.equal(typed.stderr, "Current password: \nNew password: \n");
  assert.deepEqual(api.bodies("PUT /user/password"), [
    { new_password: "new password", current_password: "old password", code: "123456" },
    { new_password: "new", current_password: "old" },
  ]);
  for (const missing of ["", "old password", "old password\n"])
    assert.match((await runCli(["user", "password"], { cwd, api, stdin: missing })).stderr, /it needs 2 lines/);
});

test("two-factor authentication is enrolled, confirmed and disabled with the current password", async (t) => {
  const api = await startFakeApi(t, {
    "GET /user/two_factor": { result: { enabled: true, recovery_codes: 9 } },
    "POST /user/two_factor": { result: { secret: "ABCD", uri: "otpauth://totp/x" } },
    "POST /user/two_factor/confirm": { result: { recovery_codes: ["aaaa-bbbb"] } },
    "POST /user/two_factor/recovery_codes": { result: { recovery_codes: ["cccc-dddd"] } },
    "DELETE /user/two_factor": { result: { enabled: false, recovery_codes: 0 } },
  });
  const cwd = await folderWith(t);
  const run = async (...args: string[]) =>
    (await runCli(["user", "two-factor", ...args], { cwd, api, stdin: "secret\n" })).stdout;
  assert.match(await run("status"), /enabled\nrecovery codes +9\n/);
  assert.match(await run("enroll"), /secret +ABCD\nuri +otpauth:\/\/totp\/x\n/);
  assert.equal(await run("confirm", "123456"), "aaaa-bbbb\n");
  assert.equal(await run("recovery-codes", "--code", "123456"), "cccc-dddd\n");
  assert.equal(await run("disable", "--code", "123456", "--yes"), "Disabled two-factor authentication\n");
  assert.deepEqual(api.bodies("DELETE /user/two_factor"), [{ current_password: "secret", code: "123456" }]);
  assert.deepEqual(api.bodies("POST /user/two_factor"), [{ current_password: "secret" }]);
});

test("passkeys are listed, renamed and deleted", async (t) => {
  const passkey = {
    id: ID,
    name: "laptop",
    host: "dashboard.example.com",
    synced: true,
    created_on: "2026-11-01T10:00:00.000Z",
    last_used_on: null,
  };
  const api = await startFakeApi(t, {
    "GET /user/passkeys": { result: [passkey] },
    [`PATCH /user/passkeys/${ID}`]: { result: { ...passkey, name: "old laptop" } },
    [`DELETE /user/passkeys/${ID}`]: { result: { id: ID } },
  });
  const cwd = await folderWith(t);
  const run = async (...args: string[]) =>
    (await runCli(["user", "passkeys", ...args], { cwd, api, stdin: "secret\n" })).stdout;
  assert.match(await run("list"), /laptop +dashboard\.example\.com/);
  assert.match(await run("rename", ID, "old laptop"), /to old laptop/);
  assert.match(await run("delete", ID, "--yes"), /^Deleted/);
  assert.deepEqual(api.bodies(`DELETE /user/passkeys/${ID}`), [{ current_password: "secret" }]);
});
