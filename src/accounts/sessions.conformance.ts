import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../test/support/databases.ts";
import { randomIds, silentLog } from "../kernel/index.ts";
import { groups, MINUTE, expectErrorKind } from "./accounts.testing.ts";
import { createAccounts } from "./create.ts";
import { permissionGroups } from "./tokens/permission-groups.ts";
import type { AccountTables } from "./tables.ts";
import type { Role } from "./roles.ts";
import { setUpSignIn } from "./sign-in/sign-in.testing.ts";

const HOUR = 60 * MINUTE;
const page = { page: 1, perPage: 20 };

/** Behavior of sessions on every database. */
export function sessionsConformance(engine: TestEngine): void {
  describe("sessions", () => {
    test("identify their user, with every permission of the role", async (t) => {
      const { first, signIn, caller } = await setUpSignIn(engine, t);
      const { secret, session } = await signIn();
      assert.match(secret, /^rps_[\w-]{40}$/);
      const by = await caller(secret);
      assert.deepEqual(
        [by.tokenId, by.sessionId, by.user.id, by.accounts],
        [session.id, session.id, first.user.id, [first.account.id]],
      );
      for (const { name, scope } of permissionGroups) {
        const on = {
          user: { user: true as const },
          account: { account: first.account.id },
          zone: { zone: "f".repeat(32), account: first.account.id },
          bucket: { bucket: "films", jurisdiction: "default", account: first.account.id },
        }[scope];
        assert.ok(by.allows(name, on), name);
        if (scope !== "user") assert.ok(!by.allows(name, { user: true }), `${name} on the user`);
        else assert.ok(!by.allows(name, { account: first.account.id }), `${name} on the account`);
      }
      assert.ok(!by.allows("Stream Read", { account: "f".repeat(32) }), "another account");
    });

    test("are stored as hashes", async (t) => {
      const { db, signIn } = await setUpSignIn(engine, t);
      const { secret } = await signIn();
      const rows = await db.tables<AccountTables>().selectFrom("sessions").selectAll().execute();
      assert.equal(rows.length, 1);
      assert.ok(!JSON.stringify(rows).includes(secret.slice(4)));
    });

    test("end when they are idle, and after their maximum duration", async (t) => {
      const { module, clock, signIn, caller } = await setUpSignIn(engine, t, {
        dashboard: {
          session_idle_hours: 2,
          session_max_days: 1,
          oidc_issuer: "",
          oidc_client_id: "",
          oidc_client_secret: "",
          oidc_domains: [],
        },
      });
      const idle = await signIn();
      clock.advance(2 * HOUR - 1);
      assert.ok(await caller(idle.secret));
      await module.flush();
      clock.advance(2 * HOUR - 1);
      assert.ok(await caller(idle.secret), "used in the meantime");
      await module.flush();
      clock.advance(2 * HOUR);
      assert.equal(await caller(idle.secret), undefined);

      const used = await signIn();
      for (let hour = 0; hour < 23; hour++) {
        clock.advance(HOUR);
        assert.ok(await caller(used.secret), `hour ${hour}`);
        await module.flush();
      }
      clock.advance(HOUR);
      assert.equal(await caller(used.secret), undefined);
      assert.equal((await module.sessions.list((await caller((await signIn()).secret))!, page)).total, 1);
    });

    test("are listed with their last use", async (t) => {
      const { module, clock, signIn, caller } = await setUpSignIn(engine, t);
      const old = await signIn();
      clock.advance(MINUTE);
      const { secret, session } = await signIn();
      clock.advance(MINUTE);
      const by = (await caller(secret, { ip: "198.51.100.7" }))!;
      await module.flush();
      const { items, total } = await module.sessions.list(by, page);
      assert.equal(total, 2);
      assert.deepEqual(
        items.map(({ id }) => id),
        [session.id, old.session.id],
      );
      assert.deepEqual(
        [items[0]!.lastUsedAt, items[0]!.ip, items[0]!.userAgent, items[0]!.method, items[1]!.ip],
        [clock.now(), "198.51.100.7", "Firefox", "link", "192.0.2.1"],
      );
      assert.equal((await module.sessions.list(by, { page: 2, perPage: 1 })).items[0]!.id, old.session.id);
    });

    test("stop working in every process when they are revoked", async (t) => {
      const { another, events, clock, secrets, module, signIn, caller } = await setUpSignIn(engine, t);
      const other = createAccounts({ db: await another(), clock, ids: randomIds, events, log: silentLog, secrets });
      t.after(() => other.close());
      const [mine, revoked, third] = [await signIn(), await signIn(), await signIn()];
      for (const { secret } of [mine, revoked, third]) assert.ok(await other.authenticate({ secret }));
      const by = (await caller(mine.secret))!;
      const since = clock.now();
      assert.ok(await module.stillValid(revoked.session.id, since));
      await module.sessions.revoke(by, revoked.session.id);
      for (const process of [module, other]) {
        assert.equal(await process.authenticate({ secret: revoked.secret }), undefined);
        assert.equal(await process.stillValid(revoked.session.id, since), undefined);
        assert.ok(await process.authenticate({ secret: mine.secret }));
      }
      await assert.rejects(module.sessions.revoke(by, revoked.session.id), expectErrorKind("noSession"));
      assert.equal(await module.sessions.revokeOthers(by), 1);
      assert.equal(await other.authenticate({ secret: third.secret }), undefined);
      await module.signIn.signOut(mine.secret);
      assert.equal(await other.authenticate({ secret: mine.secret }), undefined);
      await module.signIn.signOut(mine.secret);
    });

    test("follow a change of the role in every process", async (t) => {
      const { db, another, events, clock, first, secrets, module, signIn } = await setUpSignIn(engine, t);
      const other = createAccounts({ db: await another(), clock, ids: randomIds, events, log: silentLog, secrets });
      t.after(() => other.close());
      const { secret } = await signIn();
      const on = { account: first.account.id };
      const allowed = async (process: typeof other) => {
        const by = (await process.authenticate({ secret }))!;
        return [by.allows("Stream Read", on), by.allows("Stream Write", on), by.allows("Account Settings Write", on)];
      };
      assert.deepEqual(await allowed(other), [true, true, true]);
      const change = async (role: Role) => {
        await db
          .tables<AccountTables>()
          .updateTable("memberships")
          .set({ role })
          .where("user_id", "=", first.user.id)
          .execute();
        // Any change of a membership is announced in the same way.
        await module.createGlobalKey();
      };
      await change("editor");
      for (const process of [module, other]) assert.deepEqual(await allowed(process), [true, true, false]);
      await change("viewer");
      for (const process of [module, other]) assert.deepEqual(await allowed(process), [true, false, false]);
      await db.tables<AccountTables>().deleteFrom("memberships").execute();
      await module.createGlobalKey();
      for (const process of [module, other]) {
        assert.deepEqual((await process.authenticate({ secret }))!.accounts, []);
        assert.deepEqual(await allowed(process), [false, false, false]);
      }
    });

    test("belong to one user", async (t) => {
      const { db, module, signIn, user } = await setUpSignIn(engine, t);
      const { session } = await signIn();
      const stranger = { ...(await user())!, user: { id: "2".repeat(32), email: "bob@example.com" } };
      await assert.rejects(module.sessions.revoke(stranger, session.id), expectErrorKind("noSession"));
      assert.equal((await module.sessions.list(stranger, page)).total, 0);
      assert.equal(await module.sessions.revokeOthers(stranger), 0);
      assert.equal((await db.tables<AccountTables>().selectFrom("sessions").selectAll().execute()).length, 2);
    });

    test("are limited in number: the least recently used one ends", async (t) => {
      const { module, clock, signIn, caller } = await setUpSignIn(engine, t);
      const first = await signIn();
      const second = await signIn();
      clock.advance(2 * MINUTE);
      await caller(first.secret);
      await module.flush();
      for (let count = 2; count <= 100; count++) await signIn();
      assert.ok(await caller(first.secret));
      assert.equal(await caller(second.secret), undefined);
    });

    test("create API tokens that outlive them, unless they have ended", async (t) => {
      const { module, mine, reader, user, caller } = await setUpSignIn(engine, t);
      const by = (await user())!;
      const policies = [
        {
          effect: "allow" as const,
          groups: groups("Stream Write"),
          resources: { "com.cloudflare.api.account.*": "*" },
        },
      ];
      const { value } = await module.tokens.create(mine, { name: "all accounts", policies }, by);
      await module.sessions.revoke(by, by.sessionId!);
      assert.ok(await caller(value));
      await assert.rejects(module.tokens.create(mine, reader, by), expectErrorKind("invalidToken"));
    });
  });
}
