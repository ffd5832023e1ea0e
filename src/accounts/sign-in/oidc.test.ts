import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { onEveryDatabase, type TestEngine } from "../../../test/support/databases.ts";
import { MINUTE, expectErrorKind } from "../accounts.testing.ts";
import type { AccountsOptions } from "../create.ts";
import { CLIENT, startProvider } from "./provider.testing.ts";
import { setUpSignIn } from "./sign-in.testing.ts";

const ORIGIN = "https://dashboard.example.com";
const REDIRECT = `${ORIGIN}/sign-in/callback`;
const USERS = {
  ann: { email: "ANN@example.com", email_verified: true },
  unverified: { email: "ann@example.com", email_verified: false },
  bob: { email: "bob@example.com", email_verified: true },
  anonymous: {},
};

onEveryDatabase((engine) => {
  test("a member signs in with the verified address that the provider reports", async (t) => {
    const { module, first, client, provider, caller } = await setUpOidc(engine, t);
    assert.deepEqual(module.signIn.methods(), ["password", "passkey", "oidc", "link"]);
    const { url, ticket } = await module.signIn.startOidc(REDIRECT);
    const { searchParams } = new URL(url);
    assert.deepEqual(
      [searchParams.get("scope"), searchParams.get("code_challenge_method"), searchParams.get("redirect_uri")],
      ["openid email", "S256", REDIRECT],
    );
    for (const name of ["state", "nonce", "code_challenge"]) assert.ok(searchParams.get(name)!.length >= 43, name);
    const callback = { ticket, url: await provider.browse(url, "ann") };
    const { secret, session } = await module.signIn.withOidc(callback, client);
    assert.equal((await caller(secret))!.user.id, first.user.id);
    assert.equal(session.method, "oidc");
    await assert.rejects(module.signIn.withOidc(callback, client), expectErrorKind("oidcFailed"), "the code was used");
  });

  test("the address may also be part of the ID token", async (t) => {
    const { module, client, provider } = await setUpOidc(engine, t, {}, { claimsInIdToken: true });
    const { url, ticket } = await module.signIn.startOidc(REDIRECT);
    assert.ok(await module.signIn.withOidc({ ticket, url: await provider.browse(url, "ann") }, client));
  });

  test("users without a verified address, and users who are not members, are rejected", async (t) => {
    const { module, client, provider } = await setUpOidc(engine, t);
    for (const [user, kind] of [
      ["unverified", "notMember"],
      ["bob", "notMember"],
      ["anonymous", "oidcFailed"],
    ] as const) {
      const { url, ticket } = await module.signIn.startOidc(REDIRECT);
      await assert.rejects(
        module.signIn.withOidc({ ticket, url: await provider.browse(url, user) }, client),
        expectErrorKind(kind),
        user,
      );
    }
  });

  test("only configured domains are accepted", async (t) => {
    for (const [domains, accepted] of [
      [["example.org"], false],
      [["example.org", "Example.com"], true],
    ] as const) {
      const { module, client, provider } = await setUpOidc(engine, t, { oidc_domains: [...domains] });
      const { url, ticket } = await module.signIn.startOidc(REDIRECT);
      const signingIn = module.signIn.withOidc({ ticket, url: await provider.browse(url, "ann") }, client);
      if (accepted) assert.ok(await signingIn);
      else await assert.rejects(signingIn, expectErrorKind("notMember"));
    }
  });

  test("a callback is accepted only in the browser that started the sign-in", async (t) => {
    const { module, clock, client, provider } = await setUpOidc(engine, t);
    const attacker = await module.signIn.startOidc(REDIRECT);
    const url = await provider.browse(attacker.url, "ann");
    const victim = await module.signIn.startOidc(REDIRECT);
    await assert.rejects(module.signIn.withOidc({ ticket: victim.ticket, url }, client), expectErrorKind("oidcFailed"));
    const changed = new URL(url);
    changed.searchParams.set("state", new URL(victim.url).searchParams.get("state")!);
    await assert.rejects(
      module.signIn.withOidc({ ticket: victim.ticket, url: changed.href }, client),
      expectErrorKind("oidcFailed"),
      "the code belongs to another PKCE verifier",
    );
    const elsewhere = url.replace(ORIGIN, "https://evil.example");
    await assert.rejects(
      module.signIn.withOidc({ ticket: attacker.ticket, url: elsewhere }, client),
      expectErrorKind("oidcFailed"),
    );
    await assert.rejects(module.signIn.withOidc({ ticket: "", url }, client), expectErrorKind("signInExpired"));
    clock.advance(15 * MINUTE);
    await assert.rejects(
      module.signIn.withOidc({ ticket: attacker.ticket, url }, client),
      expectErrorKind("signInExpired"),
    );
  });

  test("an error response of the provider is reported with its description", async (t) => {
    const { module, client, provider } = await setUpOidc(engine, t);
    const { url, ticket } = await module.signIn.startOidc(REDIRECT);
    const callback = new URL(REDIRECT);
    callback.searchParams.set("iss", provider.issuer);
    callback.searchParams.set("error", "access_denied");
    callback.searchParams.set("error_description", "The user said no");
    callback.searchParams.set("state", new URL(url).searchParams.get("state")!);
    await assert.rejects(module.signIn.withOidc({ ticket, url: callback.href }, client), ({ kind, message }) => {
      assert.equal(kind, "oidcFailed");
      assert.match(message, /access_denied: The user said no/);
      return true;
    });
  });

  test("a provider that cannot be reached is requested again by the next sign-in", async (t) => {
    const { module } = await setUpOidc(engine, t, { oidc_issuer: "http://127.0.0.1:1" });
    for (let attempt = 0; attempt < 2; attempt++)
      await assert.rejects(module.signIn.startOidc(REDIRECT), expectErrorKind("oidcUnreachable"));
  });

  test("sign-in with OpenID Connect is not offered without settings", async (t) => {
    const { module, client } = await setUpSignIn(engine, t);
    assert.deepEqual(module.signIn.methods(), ["password", "passkey", "link"]);
    await assert.rejects(module.signIn.startOidc(REDIRECT), expectErrorKind("oidcOff"));
    await assert.rejects(module.signIn.withOidc({ ticket: "", url: REDIRECT }, client), expectErrorKind("oidcOff"));
    await assert.rejects(
      setUpSignIn(engine, t, {
        dashboard: { ...DASHBOARD, oidc_issuer: "https://id.example.com", oidc_client_id: "" },
      }),
      expectErrorKind("oidcIncomplete"),
    );
  });
});

const DASHBOARD: NonNullable<AccountsOptions["dashboard"]> = {
  session_idle_hours: 72,
  session_max_days: 30,
  oidc_issuer: "",
  oidc_client_id: CLIENT.id,
  oidc_client_secret: CLIENT.secret,
  oidc_domains: [],
};

async function setUpOidc(
  engine: TestEngine,
  t: TestContext,
  settings: Partial<typeof DASHBOARD> = {},
  { claimsInIdToken = false } = {},
) {
  const provider = await startProvider(t, { redirectUris: [REDIRECT], users: USERS, claimsInIdToken });
  const dashboard = { ...DASHBOARD, oidc_issuer: provider.issuer, ...settings };
  return { ...(await setUpSignIn(engine, t, { dashboard })), provider };
}
