import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../test/support/databases.ts";
import { MINUTE, expectErrorKind, setUp } from "./accounts.testing.ts";
import { codeAt, PASSWORD, setUpSignIn } from "./sign-in/sign-in.testing.ts";
import type { AccountTables } from "./tables.ts";

/** Behavior of two-factor authentication on every database. */
export function twoFactorConformance(engine: TestEngine): void {
  describe("two-factor authentication", () => {
    /** Sets up a user with password and authenticator app. */
    async function setUpTwoFactor(t: Parameters<typeof setUp>[1]) {
      const base = await setUpSignIn(engine, t);
      const { module, clock, email, client, withPassword } = base;
      const by = (await withPassword())!;
      const { secret, uri } = await module.twoFactor.enroll(by, {});
      const recoveryCodes = await module.twoFactor.confirm(by, codeAt(secret, clock.now()));
      clock.advance(MINUTE);
      const ticket = async () => {
        const result = await module.signIn.withPassword({ email, password: PASSWORD }, client);
        if (!("ticket" in result)) throw new Error("no code is required");
        return result.ticket;
      };
      return { ...base, by, secret, uri, recoveryCodes, ticket };
    }

    test("asks for a code after the password, and accepts each code once", async (t) => {
      const { module, clock, client, secret, ticket, caller } = await setUpTwoFactor(t);
      const code = codeAt(secret, clock.now());
      const step = { ticket: await ticket(), code: `${code.slice(0, 3)} ${code.slice(3)}` };
      const { secret: session, session: opened } = await module.signIn.withCode(step, client);
      assert.ok(await caller(session));
      assert.deepEqual([opened.method, opened.twoFactor], ["password", true]);
      await assert.rejects(module.signIn.withCode(step, client), expectErrorKind("badCode"), "the same code again");
      await assert.rejects(
        module.signIn.withCode({ ticket: await ticket(), code: codeAt(secret, clock.now() - 30_000) }, client),
        expectErrorKind("badCode"),
        "an earlier code than the last one",
      );
      clock.advance(30_000);
      assert.ok(await module.signIn.withCode({ ticket: await ticket(), code: codeAt(secret, clock.now()) }, client));
    });

    test("accepts codes from clocks that are off by up to half a minute", async (t) => {
      const { module, clock, client, secret, ticket } = await setUpTwoFactor(t);
      const withCodeOf = async (offset: number) =>
        module.signIn.withCode({ ticket: await ticket(), code: codeAt(secret, clock.now() + offset) }, client);
      await assert.rejects(withCodeOf(-60_000), expectErrorKind("badCode"));
      await assert.rejects(withCodeOf(60_000), expectErrorKind("badCode"));
      assert.ok(await withCodeOf(-30_000));
      assert.ok(await withCodeOf(30_000));
    });

    test("accepts each recovery code once", async (t) => {
      const { module, client, by, recoveryCodes, ticket } = await setUpTwoFactor(t);
      assert.equal(recoveryCodes.length, 10);
      for (const code of recoveryCodes) assert.match(code, /^([a-z2-7]{4}-){3}[a-z2-7]{4}$/);
      const typed = recoveryCodes[3]!.replaceAll("-", " ").toUpperCase();
      assert.ok(await module.signIn.withCode({ ticket: await ticket(), code: typed }, client));
      await assert.rejects(
        module.signIn.withCode({ ticket: await ticket(), code: recoveryCodes[3]! }, client),
        expectErrorKind("badCode"),
      );
      assert.deepEqual(await module.twoFactor.status(by), { enabled: true, recoveryCodes: 9 });
      const fresh = await module.twoFactor.createRecoveryCodes(by, { password: PASSWORD });
      await assert.rejects(
        module.signIn.withCode({ ticket: await ticket(), code: recoveryCodes[0]! }, client),
        expectErrorKind("badCode"),
      );
      assert.ok(await module.signIn.withCode({ ticket: await ticket(), code: fresh[0]! }, client));
    });

    test("blocks sign-in of a user for an hour after ten wrong codes", async (t) => {
      const { module, clock, secret, ticket } = await setUpTwoFactor(t);
      const attempt = async (code: string, count: number) =>
        module.signIn.withCode({ ticket: await ticket(), code }, { ip: `198.51.100.${count}` });
      for (let count = 0; count < 10; count++)
        await assert.rejects(attempt(codeAt(secret, 0), count), expectErrorKind("badCode"));
      await assert.rejects(attempt(codeAt(secret, clock.now()), 100), expectErrorKind("tooManySignIns"));
      clock.advance(60 * MINUTE);
      assert.ok(await attempt(codeAt(secret, clock.now()), 100));
    });

    test("rejects a step without a valid ticket", async (t) => {
      const { module, clock, client, secret, ticket } = await setUpTwoFactor(t);
      const old = await ticket();
      clock.advance(5 * MINUTE);
      const code = codeAt(secret, clock.now());
      const other = (await module.signIn.passkeyOptions("http://localhost:8790")).ticket;
      for (const bad of [old, "", `${await ticket()}x`, other])
        await assert.rejects(module.signIn.withCode({ ticket: bad, code }, client), expectErrorKind("signInExpired"));
    });

    test("is enabled by a first code, which ends other sessions", async (t) => {
      const { module, clock, signIn, caller } = await setUpSignIn(engine, t);
      const [mine, other] = [await signIn(), await signIn()];
      const by = (await caller(mine.secret))!;
      await assert.rejects(module.twoFactor.confirm(by, "123456"), expectErrorKind("twoFactorOff"));
      const old = await module.twoFactor.enroll(by, {});
      const { secret, uri } = await module.twoFactor.enroll(by, {});
      assert.ok(uri.startsWith("otpauth://totp/Reelpost:Ann%40example.com?"), uri);
      assert.deepEqual(await module.twoFactor.status(by), { enabled: false, recoveryCodes: 0 });
      assert.ok(!("ticket" in (await signIn())), "an unconfirmed app requires no code");
      await assert.rejects(module.twoFactor.confirm(by, codeAt(old.secret, clock.now())), expectErrorKind("badCode"));
      await module.twoFactor.confirm(by, codeAt(secret, clock.now()));
      assert.equal(await caller(other.secret), undefined);
      await assert.rejects(module.twoFactor.enroll(by, {}), expectErrorKind("twoFactorOn"));
      await assert.rejects(module.twoFactor.confirm(by, codeAt(secret, clock.now())), expectErrorKind("twoFactorOn"));
      await module.twoFactor.disable(by, {});
      await assert.rejects(module.twoFactor.disable(by, {}), expectErrorKind("twoFactorOff"));
      await assert.rejects(module.twoFactor.createRecoveryCodes(by, {}), expectErrorKind("twoFactorOff"));
    });

    test("applies to sign-in links, except those that skip it (for operators)", async (t) => {
      const { module, client } = await setUpTwoFactor(t);
      const link = await module.createSignInLink();
      assert.ok("ticket" in (await module.signIn.withLink(link.secret, client)));
      const rescue = await module.createSignInLink(undefined, { skipsTwoFactor: true });
      assert.ok("session" in (await module.signIn.withLink(rescue.secret, client)));
    });

    test("encrypts the secret, and stores hashes of the recovery codes", async (t) => {
      const { db, secret, recoveryCodes } = await setUpTwoFactor(t);
      const rows = JSON.stringify([
        await db.tables<AccountTables>().selectFrom("user_totp").selectAll().execute(),
        await db.tables<AccountTables>().selectFrom("recovery_codes").selectAll().execute(),
      ]);
      assert.ok(!rows.includes(secret));
      for (const code of recoveryCodes)
        for (const form of [code, code.replaceAll("-", "")]) assert.ok(!rows.includes(form));
    });
  });
}
