import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { onEveryDatabase, type TestEngine } from "../support/databases.ts";
import { createAuthenticator } from "../../src/accounts/sign-in/authenticator.testing.ts";
import { CLIENT, startProvider } from "../../src/accounts/sign-in/provider.testing.ts";
import { codeAt, PASSWORD, setUpSignIn } from "../../src/accounts/sign-in/sign-in.testing.ts";
import { createClientAddress } from "../../src/kernel/client-address.ts";
import { randomIds, silentLog } from "../../src/kernel/index.ts";
import { createSignInHttp } from "../../src/dashboard/auth/sign-in-http.ts";

interface Answer {
  status: number;
  headers: Headers;
  // oxlint-disable-next-line no-explicit-any
  body: any;
}

onEveryDatabase((engine) => {
  test("a link opens a session that records the client's address and browser, and can be signed out", async (t) => {
    const { post, module, caller } = await setUpHttp(engine, t);
    const { secret: link } = await module.createSignInLink();
    const { status, headers, body } = await post("/auth/link", { link });
    assert.equal(status, 200);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("set-cookie"), null);
    assert.equal(headers.get("access-control-allow-origin"), null);
    assert.deepEqual(Object.keys(body.result).sort(), ["session", "user"]);
    const { secret } = body.result.session;
    const by = (await caller(secret))!;
    const [session] = (await module.sessions.list(by, { page: 1, perPage: 20 })).items;
    assert.deepEqual([session!.ip, session!.userAgent], ["127.0.0.1", "Firefox"]);
    assert.deepEqual((await post("/auth/link", { link })).body.errors[0].code, 1053);
    assert.equal((await post("/auth/sign-out", {}, { authorization: `Bearer ${secret}` })).status, 200);
    assert.equal(await caller(secret), undefined);
    assert.equal((await post("/auth/sign-out", {})).status, 200);
  });

  test("sign-in with a password asks for a one-time code if the user has an authenticator app", async (t) => {
    const { post, module, clock, email, withPassword, caller } = await setUpHttp(engine, t);
    const by = (await withPassword())!;
    const { result } = (await post("/auth/password", { email, password: PASSWORD })).body;
    assert.ok(await caller(result.session.secret));
    const { secret } = await module.twoFactor.enroll(by, {});
    await module.twoFactor.confirm(by, codeAt(secret, clock.now()));
    clock.advance(60_000);
    const first = await post("/auth/password", { email, password: PASSWORD });
    assert.deepEqual(Object.keys(first.body.result).sort(), ["ticket", "two_factor"]);
    const { ticket } = first.body.result;
    assert.deepEqual((await post("/auth/totp", { ticket, code: "000000" })).status, 401);
    const second = await post("/auth/totp", { ticket, code: codeAt(secret, clock.now()) });
    assert.ok(await caller(second.body.result.session.secret));
  });

  test("failures have the same response for known and unknown users, and are rate-limited", async (t) => {
    const { post, email, withPassword } = await setUpHttp(engine, t);
    await withPassword();
    const attempt = async (address: string) => {
      const { status, body } = await post("/auth/password", { email: address, password: "wrong password" });
      return [status, body];
    };
    assert.deepEqual(await attempt(email), await attempt("bob@example.com"));
    for (let count = 0; count < 9; count++) await attempt(email);
    const limited = await post("/auth/password", { email, password: PASSWORD });
    assert.deepEqual([limited.status, limited.headers.get("retry-after")], [429, "300"]);
  });

  test("a passkey opens a session at the origin of the page", async (t) => {
    const { post, origin, module, user, caller } = await setUpHttp(engine, t);
    const by = (await user())!;
    const authenticator = createAuthenticator({ origin });
    const { options, ticket } = await module.passkeys.registrationOptions(by, origin, {});
    await module.passkeys.register(by, { ticket, name: "laptop", response: authenticator.create(options) });
    const started = (await post("/auth/passkey/options", {}, { origin })).body.result;
    const { body } = await post(
      "/auth/passkey/verify",
      { ticket: started.ticket, response: authenticator.get(started.options) },
      { origin },
    );
    assert.equal((await caller(body.result.session.secret))!.user.id, by.user.id);
    const again = await post(
      "/auth/passkey/verify",
      { ticket: started.ticket, response: authenticator.get(started.options) },
      { origin },
    );
    assert.deepEqual([again.status, again.body.errors[0].code], [401, 1056]);
  });

  test("an OpenID Connect provider opens a session through the callback page", async (t) => {
    // The provider must know the redirect URI before the dashboard has a port.
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const origin = `http://localhost:${(server.address() as AddressInfo).port}`;
    const provider = await startProvider(t, {
      redirectUris: [`${origin}/sign-in/callback`],
      users: { ann: { email: "ann@example.com", email_verified: true } },
    });
    const { post, caller } = await setUpHttp(engine, t, {
      server,
      options: {
        dashboard: {
          session_idle_hours: 72,
          session_max_days: 30,
          oidc_issuer: provider.issuer,
          oidc_client_id: CLIENT.id,
          oidc_client_secret: CLIENT.secret,
          oidc_domains: [],
        },
      },
    });
    assert.deepEqual((await post("/auth/methods", {})).body.result, {
      methods: ["password", "passkey", "oidc", "link"],
    });
    const { url, ticket } = (await post("/auth/oidc/start", {}, { origin })).body.result;
    const callback = await provider.browse(url, "ann");
    const { body } = await post("/auth/oidc/finish", { ticket, url: callback }, { origin });
    assert.ok(await caller(body.result.session.secret));
  });

  test("only JSON by POST is accepted, and other paths are left to the caller", async (t) => {
    const { post, origin } = await setUpHttp(engine, t);
    assert.equal((await fetch(`${origin}/auth/methods`)).status, 405);
    assert.equal((await post("/auth/methods", {}, { "content-type": "text/plain" })).status, 400);
    assert.equal((await post("/auth/password", { email: "ann@example.com" })).body.errors[0].code, 10001);
    assert.equal((await post("/auth/password", { email: "x".repeat(70_000), password: "" })).status, 413);
    assert.equal((await post("/auth/other", {})).status, 418);
    assert.equal((await post("/auth/constructor", {})).status, 418);
  });
});

async function setUpHttp(
  engine: TestEngine,
  t: TestContext,
  {
    server = createServer(),
    options = {},
  }: { server?: ReturnType<typeof createServer>; options?: Parameters<typeof setUpSignIn>[2] } = {},
) {
  const base = await setUpSignIn(engine, t, options);
  const handle = createSignInHttp({
    signIn: base.module.signIn,
    address: createClientAddress([]),
    ids: randomIds,
    log: silentLog,
  });
  server.on("request", (request, response) => {
    void handle(request, response).then((isHandled) => {
      if (!isHandled) response.writeHead(418).end("{}");
    });
  });
  if (!server.listening) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  }
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const { port } = server.address() as AddressInfo;
  async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": "Firefox", ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, body: await response.json() };
  }
  return { ...base, origin: `http://localhost:${port}`, post };
}
