import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../test/support/databases.ts";
import { MINUTE, expectErrorKind } from "./accounts.testing.ts";
import { createAuthenticator } from "./sign-in/authenticator.testing.ts";
import { PASSWORD, setUpSignIn } from "./sign-in/sign-in.testing.ts";
import type { AccountTables } from "./tables.ts";

const ORIGIN = "https://dashboard.example.com";

/** Behavior of passkeys on every database. */
export function passkeysConformance(engine: TestEngine): void {
  async function setUpPasskey(t: Parameters<typeof setUpSignIn>[1], { synced = true } = {}) {
    const base = await setUpSignIn(engine, t);
    const { module, client, withPassword } = base;
    const by = (await withPassword())!;
    const authenticator = createAuthenticator({ origin: ORIGIN, synced });
    const { options, ticket } = await module.passkeys.registrationOptions(by, ORIGIN, {});
    const registration = { ticket, name: "laptop", response: authenticator.create(options) };
    const passkey = await module.passkeys.register(by, registration);
    const signInWith = async (faults: Parameters<typeof authenticator.get>[1] = {}, origin = ORIGIN) => {
      const started = await module.signIn.passkeyOptions(origin);
      const assertion = { ticket: started.ticket, response: authenticator.get(started.options, faults) };
      return { assertion, signedIn: await module.signIn.withPasskey(assertion, origin, client) };
    };
    return { ...base, by, authenticator, registration, passkey, signInWith };
  }

  describe("passkeys", () => {
    test("open sessions without an address or a code", async (t) => {
      const { module, clock, by, passkey, signInWith, caller } = await setUpPasskey(t);
      assert.deepEqual(
        [passkey.name, passkey.rpId, passkey.synced, passkey.lastUsedAt],
        ["laptop", "dashboard.example.com", true, null],
      );
      const { options } = await module.signIn.passkeyOptions(ORIGIN);
      assert.deepEqual(
        [options.rpId, options.userVerification, options.allowCredentials ?? []],
        ["dashboard.example.com", "required", []],
      );
      const { signedIn } = await signInWith();
      assert.equal((await caller(signedIn.secret))!.user.id, by.user.id);
      assert.equal(signedIn.session.method, "passkey");
      assert.equal((await module.passkeys.list(by))[0]!.lastUsedAt, clock.now());
    });

    test("count as a second factor for accounts that require one", async (t) => {
      const { module, first, signIn, signInWith, caller } = await setUpPasskey(t);
      const [{ secret: weak }, { signedIn: strong }] = [await signIn(), await signInWith()];
      await module.accounts.update(first.account.id, { name: "Home", settings: { enforceTwofactor: true } });
      const state = async (secret: string) => {
        const { secondFactorRequired = false, allows } = (await caller(secret))!;
        return [
          secondFactorRequired,
          allows("Zone Read", { account: first.account.id }),
          allows("API Tokens Write", { user: true }),
          allows("User Details Write", { user: true }),
        ];
      };
      assert.deepEqual(await state(weak), [true, false, false, true]);
      assert.deepEqual(await state(strong.secret), [false, true, true, true]);
      await module.accounts.update(first.account.id, { name: "Home", settings: { enforceTwofactor: false } });
      assert.deepEqual(await state(weak), [false, true, true, true]);
    });

    test("are requested as discoverable credentials with user verification, once per authenticator", async (t) => {
      const { module, by, passkey } = await setUpPasskey(t);
      const { options } = await module.passkeys.registrationOptions(by, ORIGIN, {});
      assert.deepEqual(
        [options.rp.id, options.authenticatorSelection?.residentKey, options.authenticatorSelection?.userVerification],
        ["dashboard.example.com", "required", "required"],
      );
      assert.deepEqual(
        options.excludeCredentials?.map(({ id }) => id),
        [passkey.credentialId],
      );
      assert.equal(Buffer.from(options.user.id, "base64url").toString("hex"), by.user.id);
    });

    test("accept each challenge once, even without a counter", async (t) => {
      const { module, client, signInWith } = await setUpPasskey(t);
      const { assertion } = await signInWith();
      await assert.rejects(module.signIn.withPasskey(assertion, ORIGIN, client), expectErrorKind("badPasskey"));
    });

    test("accept a challenge for five minutes, and only where it was created", async (t) => {
      const { module, clock, client, authenticator } = await setUpPasskey(t);
      const started = await module.signIn.passkeyOptions(ORIGIN);
      const assertion = { ticket: started.ticket, response: authenticator.get(started.options) };
      await assert.rejects(
        module.signIn.withPasskey(assertion, "https://other.example.com", client),
        expectErrorKind("signInExpired"),
      );
      clock.advance(5 * MINUTE);
      await assert.rejects(module.signIn.withPasskey(assertion, ORIGIN, client), expectErrorKind("signInExpired"));
    });

    test("reject assertions from other origins and hosts, without verification, and with a wrong signature", async (t) => {
      const { signInWith } = await setUpPasskey(t);
      for (const faults of [
        { origin: "https://evil.example" },
        { host: "evil.example" },
        { verified: false },
        { signature: Buffer.alloc(70) },
      ])
        await assert.rejects(signInWith(faults), expectErrorKind("badPasskey"), JSON.stringify(faults));
      await assert.rejects(signInWith({}, "https://other.example.com"), expectErrorKind("badPasskey"));
      assert.ok(await signInWith());
    });

    test("reject a counter that does not increase", async (t) => {
      const { signInWith } = await setUpPasskey(t, { synced: false });
      await signInWith({ counter: 7 });
      await assert.rejects(signInWith({ counter: 6 }), expectErrorKind("badPasskey"), "a copied authenticator");
      assert.ok(await signInWith({ counter: 8 }));
    });

    test("reject unknown credentials, with a limit on failures per network", async (t) => {
      const { module, client, signInWith } = await setUpPasskey(t);
      const unknown = createAuthenticator({ origin: ORIGIN });
      const attempt = async () => {
        const { options, ticket } = await module.signIn.passkeyOptions(ORIGIN);
        return module.signIn.withPasskey({ ticket, response: unknown.get(options) }, ORIGIN, client);
      };
      const { options, ticket } = await module.signIn.passkeyOptions(ORIGIN);
      const response = { ...unknown.get(options), id: "\0" };
      await assert.rejects(
        module.signIn.withPasskey({ ticket, response }, ORIGIN, client),
        expectErrorKind("badPasskey"),
      );
      for (let count = 1; count < 30; count++) await assert.rejects(attempt(), expectErrorKind("badPasskey"));
      await assert.rejects(signInWith(), expectErrorKind("tooManySignIns"));
    });

    test("are registered once, by the user who started the registration", async (t) => {
      const { module, by, registration } = await setUpPasskey(t);
      await assert.rejects(
        module.passkeys.register(by, registration),
        expectErrorKind("badPasskey"),
        "the same credential",
      );
      const { options, ticket } = await module.passkeys.registrationOptions(by, ORIGIN, {});
      const other = { ...by, user: { id: "2".repeat(32), email: "bob@example.com" } };
      const authenticator = createAuthenticator({ origin: ORIGIN });
      const response = authenticator.create(options);
      await assert.rejects(
        module.passkeys.register(other, { ticket, name: "stolen", response }),
        expectErrorKind("signInExpired"),
      );
      for (const faults of [{ origin: "https://evil.example" }, { host: "evil.example" }, { verified: false }])
        await assert.rejects(
          module.passkeys.register(by, { ticket, name: "x", response: authenticator.create(options, faults) }),
          expectErrorKind("badPasskey"),
          JSON.stringify(faults),
        );
      assert.ok(await module.passkeys.register(by, { ticket, name: "phone", response }));
    });

    test("need an origin with a host name, and a confirmation", async (t) => {
      const { module, admin, clock, by } = await setUpPasskey(t);
      for (const origin of ["", "null", "http://dashboard.example.com", "http://127.0.0.1:8790", "https://[::1]:1"])
        await assert.rejects(
          module.passkeys.registrationOptions(by, origin, {}),
          expectErrorKind("noPasskeyHost"),
          JSON.stringify(origin),
        );
      assert.ok(await module.passkeys.registrationOptions(by, "http://localhost:8790", {}));
      await assert.rejects(
        module.passkeys.registrationOptions(admin, ORIGIN, {}),
        expectErrorKind("confirmationRequired"),
      );
      clock.advance(15 * MINUTE);
      await assert.rejects(
        module.passkeys.registrationOptions(by, ORIGIN, {}),
        expectErrorKind("confirmationRequired"),
      );
      assert.ok(await module.passkeys.registrationOptions(by, ORIGIN, { password: PASSWORD }));
    });

    test("are renamed and deleted by their user", async (t) => {
      const { module, by, passkey, signInWith } = await setUpPasskey(t);
      const other = { ...by, user: { id: "2".repeat(32), email: "bob@example.com" } };
      assert.equal((await module.passkeys.rename(by, passkey.id, "old laptop")).name, "old laptop");
      await assert.rejects(module.passkeys.rename(other, passkey.id, "x"), expectErrorKind("noPasskey"));
      await assert.rejects(module.passkeys.delete(other, passkey.id, {}), expectErrorKind("noPasskey"));
      await module.passkeys.delete(by, passkey.id, {});
      assert.deepEqual(await module.passkeys.list(by), []);
      await assert.rejects(signInWith(), expectErrorKind("badPasskey"));
    });

    test("are limited to 20 per user", async (t) => {
      const { db, module, by, passkey } = await setUpPasskey(t);
      const row = await db.tables<AccountTables>().selectFrom("passkeys").selectAll().executeTakeFirstOrThrow();
      const copies = Array.from({ length: 19 }, (_, number) => ({
        ...row,
        id: `${number}`.padStart(32, "0"),
        credential_id: `${passkey.credentialId}${number}`,
      }));
      await db.tables<AccountTables>().insertInto("passkeys").values(copies).execute();
      await assert.rejects(module.passkeys.registrationOptions(by, ORIGIN, {}), expectErrorKind("tooManyPasskeys"));
    });
  });
}
