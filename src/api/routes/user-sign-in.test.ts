import assert from "node:assert/strict";
import { test } from "node:test";
import { Secret, TOTP } from "otpauth";
import { setUpAccounts } from "./accounts.testing.ts";

const PASSWORD = "correct horse battery";
const code = (secret: string) => new TOTP({ secret: Secret.fromBase32(secret) }).generate();

/** Sets up a session of the first user. */
async function setUpSession(t: Parameters<typeof setUpAccounts>[0]) {
  const base = await setUpAccounts(t);
  const signIn = async () => {
    const { secret: link } = await base.available.createSignInLink();
    const opened = await base.available.signIn.withLink(link, { ip: "192.0.2.1", userAgent: "Firefox" });
    if ("ticket" in opened) throw new Error("a code is required");
    return opened;
  };
  const opened = await signIn();
  return { ...base, signIn, opened, session: base.as(opened.secret) };
}

test("sessions are listed, and revoked one by one or all at the same time", async (t) => {
  const { signIn, opened, session, call, as } = await setUpSession(t);
  const other = await signIn();
  const { body } = await session("get", "/user/sessions");
  assert.deepEqual(
    body.result.map(({ id, current }: { id: string; current: boolean }) => [id, current]).sort(),
    [
      [opened.session.id, true],
      [other.session.id, false],
    ].sort(),
  );
  assert.equal(body.result_info.total_count, 2);
  const { ip, method, two_factor, user_agent } = body.result[0];
  assert.deepEqual([ip, method, two_factor, user_agent], ["192.0.2.1", "link", false, "Firefox"]);
  assert.equal((await session("delete", `/user/sessions/${other.session.id}`)).status, 200);
  assert.equal((await as(other.secret)("get", "/user")).status, 401);
  const gone = await session("delete", `/user/sessions/${other.session.id}`);
  assert.deepEqual([gone.status, gone.body.errors[0].code], [404, 1051]);
  await signIn();
  assert.deepEqual((await session("delete", "/user/sessions")).body.result, { revoked: 1 });
  assert.deepEqual((await call("delete", "/user/sessions")).body.result, { revoked: 1 }, "the token is not a session");
  assert.equal((await session("get", "/user")).status, 401);
});

test("if an account requires a second factor, a session without one can only set one up", async (t) => {
  const { session, call, as, opened, available } = await setUpSession(t);
  const [{ id, name }] = (await session("get", "/accounts")).body.result;
  const require = (on: boolean) =>
    call("put", `/accounts/${id}`, { body: { name, settings: { enforce_twofactor: on } } });
  assert.equal((await require(true)).status, 200);
  for (const [method, path, body] of [
    ["get", `/accounts/${id}`],
    ["get", `/accounts/${id}/members`],
    ["get", "/user/tokens"],
    ["post", "/accounts", { name: "Other" }],
    ["get", "/memberships"],
  ] as const) {
    const refused = await session(method, path, body === undefined ? {} : { body });
    assert.deepEqual([refused.status, refused.body.errors[0].code], [403, 1072], `${method} ${path}`);
  }
  assert.equal((await session("get", "/accounts")).body.result[0].settings.enforce_twofactor, true);
  assert.equal((await session("get", "/user")).status, 200);
  assert.equal((await session("get", "/user/two_factor")).body.result.required, true);
  assert.equal((await call("get", `/accounts/${id}/members`)).status, 200, "API tokens have no second factor");
  const by = (await available.authenticate({ secret: opened.secret }))!;
  assert.equal(by.allows("Zone Read", { account: id }), false);
  assert.equal((await available.stillValid(opened.session.id, 0))!.allows("Zone Read", { account: id }), false);

  const { secret } = (await session("post", "/user/two_factor", { body: {} })).body.result;
  assert.equal((await session("post", "/user/two_factor/confirm", { body: { code: code(secret) } })).status, 200);
  assert.equal((await session("get", "/user/two_factor")).body.result.required, false);
  assert.equal((await session("get", `/accounts/${id}/members`)).status, 200);
  assert.equal((await session("delete", "/user/two_factor", { body: {} })).body.result.enabled, false);
  assert.equal((await session("get", `/accounts/${id}/members`)).status, 403, "disabled again");
  assert.equal((await require(false)).status, 200);
  assert.equal((await as(opened.secret)("get", `/accounts/${id}/members`)).status, 200);
});

test("a token without User Details Write cannot change sessions or sign-in methods", async (t) => {
  const { make, as, opened } = await setUpSession(t);
  const call = as((await make()).value);
  for (const [method, path, body] of [
    ["get", "/user/sessions"],
    ["delete", "/user/sessions"],
    ["delete", `/user/sessions/${opened.session.id}`],
    ["get", "/user/password"],
    ["put", "/user/password", { new_password: PASSWORD }],
    ["delete", "/user/password", {}],
    ["get", "/user/two_factor"],
    ["post", "/user/two_factor", {}],
    ["post", "/user/two_factor/confirm", { code: "123456" }],
    ["post", "/user/two_factor/recovery_codes", {}],
    ["delete", "/user/two_factor", {}],
    ["get", "/user/passkeys"],
    ["post", "/user/passkeys/registration_options", {}],
    ["post", "/user/passkeys", {}],
    ["patch", `/user/passkeys/${"0".repeat(32)}`, { name: "x" }],
    ["delete", `/user/passkeys/${"0".repeat(32)}`, {}],
  ] as const) {
    const { status } = await call(method, path, body === undefined ? {} : { body });
    assert.equal(status, 403, `${method} ${path}`);
  }
});

test("a token with User Details Write needs the password for each change", async (t) => {
  const { call, session } = await setUpSession(t);
  const refused = async (...request: Parameters<typeof call>) => {
    const { status, body } = await call(...request);
    return [status, body.errors[0]?.code];
  };
  assert.deepEqual(await refused("put", "/user/password", { body: { new_password: PASSWORD } }), [403, 1063]);
  assert.deepEqual((await call("get", "/user/password")).body.result, { enabled: false, changed_on: null });
  assert.equal((await session("put", "/user/password", { body: { new_password: PASSWORD } })).status, 200);
  assert.equal((await call("get", "/user/password")).body.result.enabled, true);
  const next = "another passphrase";
  assert.deepEqual(await refused("put", "/user/password", { body: { new_password: next } }), [403, 1063]);
  assert.deepEqual(
    await refused("put", "/user/password", { body: { new_password: next, current_password: "guess" } }),
    [401, 1052],
  );
  assert.equal(
    (await call("put", "/user/password", { body: { new_password: next, current_password: PASSWORD } })).status,
    200,
  );
  assert.equal((await session("get", "/user")).status, 401, "all sessions have ended");
  assert.deepEqual(await refused("delete", "/user/password", { body: {} }), [403, 1063]);
  assert.equal((await call("delete", "/user/password", { body: { current_password: next } })).status, 200);
});

test("two-factor authentication is enrolled, confirmed, and disabled", async (t) => {
  const { session } = await setUpSession(t);
  assert.deepEqual((await session("get", "/user/two_factor")).body.result, {
    enabled: false,
    recovery_codes: 0,
    required: false,
  });
  const { secret, uri } = (await session("post", "/user/two_factor")).body.result;
  assert.ok(uri.includes(`secret=${secret}`));
  const wrong = await session("post", "/user/two_factor/confirm", { body: { code: "000" } });
  assert.deepEqual([wrong.status, wrong.body.errors[0].code], [401, 1054]);
  const confirmed = await session("post", "/user/two_factor/confirm", { body: { code: code(secret) } });
  assert.equal(confirmed.body.result.recovery_codes.length, 10);
  assert.equal((await session("get", "/user")).body.result.two_factor_authentication_enabled, true);
  const again = await session("post", "/user/two_factor");
  assert.deepEqual([again.status, again.body.errors[0].code], [409, 1065]);
  assert.equal((await session("post", "/user/two_factor/recovery_codes")).body.result.recovery_codes.length, 10);
  assert.equal((await session("delete", "/user/two_factor")).body.result.enabled, false);
  assert.equal((await session("get", "/user")).body.result.two_factor_authentication_enabled, false);
});

test("passkeys can be registered only from a page of the dashboard", async (t) => {
  const { session } = await setUpSession(t);
  const origin = "https://dashboard.example.com";
  const path = "/user/passkeys/registration_options";
  const without = await session("post", path);
  assert.deepEqual([without.status, without.body.errors[0].code], [400, 1069]);
  const { options, ticket } = (await session("post", path, { headers: { origin } })).body.result;
  assert.equal(options.rp.id, "dashboard.example.com");
  const response = {
    id: "x",
    rawId: "x",
    type: "public-key",
    response: { clientDataJSON: "e30", attestationObject: "oA" },
    clientExtensionResults: {},
  };
  const bad = await session("post", "/user/passkeys", { body: { ticket, name: "laptop", response } });
  assert.deepEqual([bad.status, bad.body.errors[0].code], [401, 1056]);
  assert.deepEqual((await session("get", "/user/passkeys")).body.result, []);
  for (const [method, body] of [
    ["patch", { name: "x" }],
    ["delete", {}],
  ] as const)
    assert.equal((await session(method, `/user/passkeys/${"0".repeat(32)}`, { body })).status, 404);
});
