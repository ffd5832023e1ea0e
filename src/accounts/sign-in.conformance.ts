import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../test/support/databases.ts";
import { randomIds, silentLog } from "../kernel/index.ts";
import { MINUTE, expectErrorKind } from "./accounts.testing.ts";
import { createAccounts } from "./create.ts";
import { createPasswordHasher } from "./sign-in/password-hash.ts";
import { CHEAP, codeAt, PASSWORD, setUpSignIn, signedIn } from "./sign-in/sign-in.testing.ts";
import type { AccountTables } from "./tables.ts";

/** Behavior of the ways of signing in on every database. */
export function signInConformance(engine: TestEngine): void {
  describe("sign-in links", () => {
    test("open one session", async (t) => {
      const { module, first, client, caller } = await setUpSignIn(engine, t);
      const { secret, user } = await module.createSignInLink({ email: "ANN@example.com" });
      assert.equal(user.id, first.user.id);
      const { secret: session } = signedIn(await module.signIn.withLink(secret, client));
      assert.equal((await caller(session))!.user.id, first.user.id);
      await assert.rejects(module.signIn.withLink(secret, client), expectErrorKind("badLink"));
    });

    test("of an invitation sign in its new user, and no other one", async (t) => {
      const { module, first, admin, client, caller, clock } = await setUpSignIn(engine, t);
      clock.advance(1);
      const sent: string[] = [];
      module.members.onInvitation(async ({ secret }) => void sent.push(secret));
      const [home, other] = [first.account.id, (await module.accounts.create(admin, { name: "Other" })).id];
      await module.members.invite(admin, home, { email: "bob@example.com", role: "viewer" });
      assert.equal((await module.signIn.invitation(sent[0]!, client)).account.name, first.account.name);
      const opened = signedIn((await module.signIn.withInvitation(sent[0]!, client)) as never);
      assert.deepEqual((await caller(opened.secret))!.accounts, [home]);
      assert.equal(opened.user.email, "bob@example.com");
      await assert.rejects(module.signIn.withInvitation(sent[0]!, client), expectErrorKind("badInvitation"));

      const again = (await module.authenticate({ secret: (await module.createAdminToken()).token }))!;
      await module.members.invite(again, other, { email: "bob@example.com", role: "editor" });
      const accepted = await module.signIn.withInvitation(sent[1]!, client);
      assert.ok("accepted" in accepted && accepted.accepted.account.name === "Other");
      assert.deepEqual([...(await caller(opened.secret))!.accounts].sort(), [home, other].sort());
      for (let count = 0; count < 29; count++)
        await assert.rejects(module.signIn.invitation(`guess${count}`, client), expectErrorKind("badInvitation"));
      await assert.rejects(module.signIn.invitation("guess", client), expectErrorKind("tooManySignIns"));
    });

    test("are recorded in the audit log, like the sign-in, without secrets", async (t) => {
      const { module, first, client } = await setUpSignIn(engine, t);
      const { secret } = await module.createSignInLink();
      const opened = signedIn(await module.signIn.withLink(secret, client));
      const { items } = await module.audit.list({ account: first.account.id }, {}, { page: 1, perPage: 10 });
      assert.deepEqual(
        items.map(({ operation, actor, credential, ip, resource }) => [
          operation,
          actor?.id,
          credential,
          ip,
          resource.id,
        ]),
        [
          ["sign-in-link", first.user.id, opened.session.id, client.ip, opened.session.id],
          ["create-sign-in-link", undefined, undefined, undefined, undefined],
          ["first-run", undefined, undefined, undefined, first.account.id],
        ],
      );
      const own = await module.audit.list({ user: first.user.id, accounts: [] }, {}, { page: 1, perPage: 10 });
      assert.equal(own.items[0]!.after, '{"method":"link","two_factor":false}');
      for (const each of [secret, opened.secret]) assert.ok(!JSON.stringify([items, own]).includes(each));
    });

    test("open only one session for concurrent attempts in two processes", async (t) => {
      const { another, clock, events, secrets, module, client } = await setUpSignIn(engine, t);
      const other = createAccounts({ db: await another(), clock, ids: randomIds, events, log: silentLog, secrets });
      t.after(() => other.close());
      const { secret } = await module.createSignInLink();
      const results = await Promise.allSettled(
        [module, other, module, other].map(({ signIn }) => signIn.withLink(secret, client)),
      );
      assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    });

    test("expire after 30 minutes, and are stored as hashes", async (t) => {
      const { db, clock, module, client } = await setUpSignIn(engine, t);
      const [late, inTime] = [await module.createSignInLink(), await module.createSignInLink()];
      const rows = await db.tables<AccountTables>().selectFrom("sign_in_links").selectAll().execute();
      assert.ok(!JSON.stringify(rows).includes(late.secret));
      assert.equal(late.expiresAt, clock.now() + 30 * MINUTE);
      clock.advance(30 * MINUTE - 1);
      assert.ok(await module.signIn.withLink(inTime.secret, client));
      clock.advance(1);
      await assert.rejects(module.signIn.withLink(late.secret, client), expectErrorKind("badLink"));
    });

    test("work only for existing users, with a limit on failures per network", async (t) => {
      const { module, clock, client } = await setUpSignIn(engine, t);
      await assert.rejects(module.createSignInLink({ email: "bob@example.com" }), expectErrorKind("noUserOf"));
      const { secret } = await module.createSignInLink();
      for (let count = 0; count < 30; count++)
        await assert.rejects(module.signIn.withLink(`guess${count}`, client), expectErrorKind("badLink"));
      await assert.rejects(module.signIn.withLink(secret, client), expectErrorKind("tooManySignIns"));
      clock.advance(5 * MINUTE);
      assert.ok(await module.signIn.withLink(secret, client));
    });
  });

  describe("passwords", () => {
    test("open sessions, in any spelling of the address", async (t) => {
      const { module, first, client, caller, withPassword } = await setUpSignIn(engine, t);
      await withPassword();
      for (const email of ["Ann@example.com", "ann@EXAMPLE.com"]) {
        const { secret } = signedIn(await module.signIn.withPassword({ email, password: PASSWORD }, client));
        assert.equal((await caller(secret))!.user.id, first.user.id);
      }
    });

    test("are compared in Unicode compatibility form", async (t) => {
      const { module, email, client, user } = await setUpSignIn(engine, t);
      await module.passwords.set((await user())!, "zwölf Zeichen!", {});
      assert.ok(await module.signIn.withPassword({ email, password: "zwo\u0308lf Zeichen!" }, client));
    });

    test("give the same result after the same work for unknown users, missing passwords and wrong passwords", async (t) => {
      const { module, email, client, hasher, withPassword } = await setUpSignIn(engine, t);
      const attempt = async (address: string, password: string) => {
        const before = hasher.count;
        const thrown = await module.signIn.withPassword({ email: address, password }, client).catch((err) => err);
        return [thrown.kind, thrown.code, thrown.message, thrown.fix, hasher.count - before];
      };
      const withoutPassword = await attempt(email, PASSWORD);
      await withPassword();
      const wrong = await attempt(email, "wrong password");
      const unknown = await attempt("bob@example.com", PASSWORD);
      assert.deepEqual(await attempt("bob\0@example.com", PASSWORD), unknown);
      assert.equal(wrong[0], "signInFailed");
      assert.equal(wrong[4], 1, "scrypt ran once");
      assert.deepEqual(withoutPassword, wrong);
      assert.deepEqual(unknown, wrong);
    });

    test("have a limit on failures per user, whether the user exists or not", async (t) => {
      const { module, clock, email, withPassword } = await setUpSignIn(engine, t);
      await withPassword();
      for (const address of [email, "bob@example.com"]) {
        const attempt = (count: number, password: string) =>
          module.signIn.withPassword({ email: address, password }, { ip: `198.51.100.${count}` });
        for (let count = 0; count < 10; count++)
          await assert.rejects(attempt(count, "wrong password"), expectErrorKind("signInFailed"));
        await assert.rejects(attempt(100, PASSWORD), expectErrorKind("tooManySignIns"), address);
      }
      clock.advance(5 * MINUTE);
      assert.ok(await module.signIn.withPassword({ email, password: PASSWORD }, { ip: "198.51.100.1" }));
    });

    test("have a limit on failures per network", async (t) => {
      const { module, email, withPassword } = await setUpSignIn(engine, t);
      await withPassword();
      const from = (ip: string, address: string) =>
        module.signIn.withPassword({ email: address, password: PASSWORD }, { ip });
      for (let count = 0; count < 30; count++)
        await assert.rejects(from(`2001:db8::${count}`, `user${count}@example.com`), expectErrorKind("signInFailed"));
      await assert.rejects(from("2001:db8::ffff", email), expectErrorKind("tooManySignIns"));
      assert.ok(await from("2001:db8:1::1", email));
    });

    test("reveal nothing to concurrent attempts beyond the limit", async (t) => {
      const { module, email, withPassword } = await setUpSignIn(engine, t);
      await withPassword();
      const results = await Promise.all(
        Array.from({ length: 20 }, (_, count) =>
          module.signIn
            .withPassword({ email, password: "wrong password" }, { ip: `198.51.100.${count}` })
            .catch(({ kind }) => kind),
        ),
      );
      assert.deepEqual(results.sort(), [
        ...Array<string>(10).fill("signInFailed"),
        ...Array<string>(10).fill("tooManySignIns"),
      ]);
    });

    test("must have 12 characters, and not be the address", async (t) => {
      const { module, email, user } = await setUpSignIn(engine, t);
      const by = (await user())!;
      for (const weak of ["elevenchars", email, "aaaaaaaaaaaaaaaa", "a".repeat(257)])
        await assert.rejects(module.passwords.set(by, weak, {}), expectErrorKind("badPassword"), weak);
    });

    test("revoke the other sessions of the user when they change", async (t) => {
      const { module, signIn, caller, email, client } = await setUpSignIn(engine, t);
      const [mine, other] = [await signIn(), await signIn()];
      const by = (await caller(mine.secret))!;
      await module.passwords.set(by, PASSWORD, {});
      assert.ok(await caller(mine.secret));
      assert.equal(await caller(other.secret), undefined);
      await module.passwords.set(by, "another passphrase", {});
      await assert.rejects(
        module.signIn.withPassword({ email, password: PASSWORD }, client),
        expectErrorKind("signInFailed"),
      );
      await module.passwords.delete(by, {});
      assert.equal(await module.passwords.changedAt(by), undefined);
      await assert.rejects(
        module.signIn.withPassword({ email, password: "another passphrase" }, client),
        expectErrorKind("signInFailed"),
      );
      await assert.rejects(module.passwords.delete(by, {}), expectErrorKind("noPassword"));
    });

    test("are hashed again when the parameters have changed", async (t) => {
      const { db, another, clock, events, secrets, email, client, withPassword } = await setUpSignIn(engine, t);
      await withPassword();
      const stored = async () =>
        (await db.tables<AccountTables>().selectFrom("user_passwords").select("hash").executeTakeFirstOrThrow()).hash;
      assert.match(await stored(), /^scrypt\$ln=4,r=8,p=1\$[\w-]{22}\$[\w-]{43}$/);
      const hasher = createPasswordHasher({ ...CHEAP, ln: 5 });
      const next = createAccounts({
        db: await another(),
        clock,
        ids: randomIds,
        events,
        log: silentLog,
        secrets,
        hasher,
      });
      t.after(() => next.close());
      assert.ok(await next.signIn.withPassword({ email, password: PASSWORD }, client));
      assert.match(await stored(), /^scrypt\$ln=5,r=8,p=1\$/);
      assert.ok(await next.signIn.withPassword({ email, password: PASSWORD }, client));
    });
  });

  describe("changes of how a user signs in", () => {
    test("need the password in a session that is older than 15 minutes", async (t) => {
      const { module, clock, user, withPassword } = await setUpSignIn(engine, t);
      const stale = (await user())!;
      clock.advance(15 * MINUTE);
      await assert.rejects(module.passwords.set(stale, PASSWORD, {}), expectErrorKind("confirmationRequired"));
      const by = (await withPassword())!;
      clock.advance(15 * MINUTE);
      await assert.rejects(module.twoFactor.enroll(by, {}), expectErrorKind("confirmationRequired"));
      await assert.rejects(
        module.twoFactor.enroll(by, { password: "wrong password" }),
        expectErrorKind("signInFailed"),
      );
      assert.ok(await module.twoFactor.enroll(by, { password: PASSWORD }));
    });

    test("need the password, and a code if enabled, with an API token", async (t) => {
      const { module, clock, admin, hasher, withPassword } = await setUpSignIn(engine, t);
      await assert.rejects(module.passwords.set(admin, PASSWORD, {}), expectErrorKind("confirmationRequired"));
      await assert.rejects(
        module.passwords.set(admin, PASSWORD, { password: "any" }),
        expectErrorKind("confirmationRequired"),
        "the first password",
      );
      const by = (await withPassword())!;
      await assert.rejects(module.twoFactor.enroll(admin, {}), expectErrorKind("confirmationRequired"));
      const { secret } = await module.twoFactor.enroll(admin, { password: PASSWORD });
      await module.twoFactor.confirm(by, codeAt(secret, clock.now()));
      clock.advance(MINUTE);
      await assert.rejects(
        module.twoFactor.disable(admin, { password: PASSWORD }),
        expectErrorKind("confirmationRequired"),
        "without a code",
      );
      await assert.rejects(
        module.twoFactor.disable(admin, { password: PASSWORD, code: "000000" }),
        expectErrorKind("badCode"),
      );
      await module.twoFactor.disable(admin, { password: PASSWORD, code: codeAt(secret, clock.now()) });
      const before = hasher.count;
      for (let count = 0; count < 10; count++)
        await assert.rejects(module.twoFactor.enroll(admin, { password: "guess" }), expectErrorKind("signInFailed"));
      await assert.rejects(module.twoFactor.enroll(admin, { password: PASSWORD }), expectErrorKind("tooManySignIns"));
      assert.equal(hasher.count - before, 10);
    });

    test("are rejected in a session that has ended since the request began", async (t) => {
      const { module, withPassword } = await setUpSignIn(engine, t);
      const by = (await withPassword())!;
      await module.sessions.revoke(by, by.sessionId!);
      await assert.rejects(
        module.passwords.set(by, "another passphrase", { password: PASSWORD }),
        expectErrorKind("confirmationRequired"),
      );
    });
  });
}
