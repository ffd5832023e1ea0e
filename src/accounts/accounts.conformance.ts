import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog } from "../kernel/index.ts";
import { createLocalEvents, type Db } from "../store/index.ts";
import { createAccounts } from "./create.ts";
import { accountsMigrations } from "./migrations.ts";
import { roles, type Role } from "./roles.ts";
import type { AccountTables } from "./tables.ts";
import { permissionGroups } from "./tokens/permission-groups.ts";
import { ACCOUNT, expectErrorKind, groups, rolePolicies, setUp } from "./accounts.testing.ts";

/** Behavior of users, accounts and memberships on every database. */
export function accountsConformance(engine: TestEngine): void {
  describe("the first run", () => {
    test("creates a user, an account and a token with every permission, once", async (t) => {
      const { module, first, admin } = await setUp(engine, t);
      assert.match(first.token, /^[\w-]{40}$/);
      assert.deepEqual(
        [admin.user, admin.accounts],
        [{ id: first.user.id, email: "Ann@example.com" }, [first.account.id]],
      );
      for (const { name, scope } of permissionGroups) {
        const on = {
          user: { user: true as const },
          account: { account: first.account.id },
          zone: { zone: "f".repeat(32), account: first.account.id },
          bucket: { bucket: "films", jurisdiction: "default", account: first.account.id },
        }[scope];
        assert.ok(admin.allows(name, on), name);
      }
      assert.ok(
        !admin.allows("Stream Read", { account: "f".repeat(32) }),
        "an account that the user is not a member of",
      );
      assert.equal(await module.bootstrap(), undefined);
      assert.equal((await module.accounts.get(admin, first.account.id)).name, "Home");
    });

    test("requires an email address that can be displayed", async (t) => {
      const { db } = await engine.open(t, accountsMigrations);
      const module = createAccounts({
        db,
        clock: createManualClock(1),
        ids: randomIds,
        events: createLocalEvents({ log: silentLog }),
        log: silentLog,
      });
      for (const email of ["", "ann", "ann@localhost", "ann@-x.example", "a b@example.com"])
        await assert.rejects(module.bootstrap({ email }), expectErrorKind("badAccount"), email);
      assert.equal((await module.bootstrap({ email: "ann+x@mail.example.com" }))!.user.email, "ann+x@mail.example.com");
    });

    test("only one of two concurrent first runs creates the user", async (t) => {
      const { db, another } = await engine.open(t, accountsMigrations);
      const parts = {
        clock: createManualClock(1),
        ids: randomIds,
        events: createLocalEvents({ log: silentLog }),
        log: silentLog,
      };
      const modules = [createAccounts({ db, ...parts }), createAccounts({ db: await another(), ...parts })];
      const made = await Promise.all(modules.map((module) => module.bootstrap()));
      assert.equal(made.filter((each) => each !== undefined).length, 1);
    });

    test("replaces a lost token for an operator with access to the machine, and fails before the first run", async (t) => {
      const { module, caller } = await setUp(engine, t, { limits: { userTokens: 1 } });
      const { token } = await module.createAdminToken();
      assert.ok((await caller(token)).allows("API Tokens Write", { user: true }));
      const empty = await engine.open(t, accountsMigrations);
      const before = createAccounts({
        db: empty.db,
        clock: createManualClock(1),
        ids: randomIds,
        events: createLocalEvents({ log: silentLog }),
        log: silentLog,
      });
      await assert.rejects(before.createAdminToken(), expectErrorKind("noUser"));
    });
  });

  describe("users", () => {
    test("authenticate with their email address and a global key, or with one of their tokens", async (t) => {
      const { module, first, caller } = await setUp(engine, t);
      const { key } = await module.createGlobalKey();
      assert.match(key, /^[0-9a-f]{37}$/);
      const email = "ann@EXAMPLE.com";
      const found = await caller(key, { email });
      assert.equal(found.user.id, first.user.id);
      assert.ok(found.allows("Workers Scripts Write", { account: first.account.id }));
      assert.equal(await caller(key), undefined, "the key alone does not authenticate");
      assert.equal(await caller(key, { email: "bob@example.com" }), undefined);
      assert.equal((await caller(first.token, { email })).user.id, first.user.id);
      assert.equal(await caller(first.token, { email: "bob@example.com" }), undefined);
      const next = await module.createGlobalKey();
      assert.equal(await caller(key, { email }), undefined);
      const again = await caller(next.key, { email });
      assert.ok(
        (
          await module.tokens.create(
            { user: first.user.id },
            {
              name: "by key",
              policies: [{ effect: "allow", groups: groups("D1 Write"), resources: { [`${ACCOUNT}.*`]: "*" } }],
            },
            again,
          )
        ).value,
      );
      await assert.rejects(module.tokens.verify(again, "user"), expectErrorKind("invalidToken"));
    });

    test("update individual fields", async (t) => {
      const { module, admin } = await setUp(engine, t);
      await module.users.update(admin, { firstName: "Ann", country: "NL" });
      const user = await module.users.update(admin, { firstName: null, lastName: "Lee" });
      assert.deepEqual(
        [user.firstName, user.lastName, user.country, user.email],
        [null, "Lee", "NL", "Ann@example.com"],
      );
    });
  });

  describe("accounts", () => {
    const page = { page: 1, perPage: 2 };

    test("are created, listed, found by name, and updated", async (t) => {
      const { clock, module, first, admin, caller } = await setUp(engine, t);
      for (const name of ["Two", "Three"]) {
        clock.advance(10);
        await module.accounts.create(admin, { name });
      }
      const by = await caller(first.token);
      const names = async (number: number, options = {}) =>
        (await module.accounts.list(by, { ...page, page: number }, options)).items.map(({ name }) => name);
      assert.deepEqual([await names(1), await names(2), await names(3)], [["Home", "Two"], ["Three"], []]);
      assert.deepEqual(await names(1, { direction: "desc" }), ["Three", "Two"]);
      assert.deepEqual(await names(1, { name: "Two" }), ["Two"]);
      const id = by.accounts[1]!;
      await module.accounts.update(id, { name: " Second ", settings: { abuseContactEmail: "abuse@example.com" } });
      const changed = await module.accounts.update(id, { name: "Second", settings: { enforceTwofactor: true } });
      assert.deepEqual(
        [changed.name, changed.settings],
        ["Second", { abuseContactEmail: "abuse@example.com", enforceTwofactor: true }],
      );
      for (const name of ["", "  ", "x".repeat(101), "a\u0000b"])
        await assert.rejects(module.accounts.create(by, { name }), expectErrorKind("badAccount"));
      await assert.rejects(module.accounts.update("0".repeat(32), { name: "x" }), expectErrorKind("noAccount"));
    });

    test("are usable immediately after their creation, and are deleted immediately with their tokens", async (t) => {
      const { module, first, admin, caller, reader } = await setUp(engine, t);
      const made = "0".repeat(32);
      assert.equal(await module.accountExists(made), false);
      const { id } = await module.accounts.create(admin, { name: "Brief" });
      assert.equal(await module.accountExists(id), true);
      const by = await caller(first.token);
      assert.ok(by.allows("Stream Read", { account: id }));
      const { value } = await module.tokens.create(
        { account: id },
        { ...reader, policies: [{ ...reader.policies[0]!, resources: { [`${ACCOUNT}.${id}`]: "*" } }] },
        by,
      );
      assert.ok(await caller(value));
      await module.accounts.delete(id);
      assert.equal(await module.accountExists(id), false);
      assert.equal(await caller(value), undefined);
      assert.ok(!(await caller(first.token)).allows("Stream Read", { account: id }));
      await assert.rejects(module.accounts.get(by, made), expectErrorKind("notAllowed"));
    });

    test("cannot be deleted if they are the last one or hold resources", async (t) => {
      const full = new Set<string>();
      const { module, first, admin } = await setUp(engine, t, {
        contents: async (id) => (full.has(id) ? "2 zones" : undefined),
      });
      await assert.rejects(module.accounts.delete(first.account.id), expectErrorKind("lastAccount"));
      const { id } = await module.accounts.create(admin, { name: "Other" });
      full.add(id);
      await assert.rejects(module.accounts.delete(id), {
        kind: "accountNotEmpty",
        message: "The account is not empty: it has 2 zones",
      });
      full.clear();
      await module.accounts.delete(id);
      await assert.rejects(module.accounts.delete(id), expectErrorKind("noAccount"));
    });

    test("are limited in number", async (t) => {
      const { module, admin } = await setUp(engine, t, { limits: { accounts: 2 } });
      await module.accounts.create(admin, { name: "Two" });
      await assert.rejects(module.accounts.create(admin, { name: "Three" }), expectErrorKind("tooManyAccounts"));
    });
  });

  describe("memberships", () => {
    test("are listed with their accounts, filtered and sorted", async (t) => {
      const { clock, module, first, admin } = await setUp(engine, t);
      for (const name of ["Beta", "Alpha"]) {
        clock.advance(10);
        await module.accounts.create(admin, { name });
      }
      const names = async (query = {}, page = 1) =>
        (await module.memberships.list(admin, { page, perPage: 2 }, query)).items.map(({ account }) => account.name);
      assert.deepEqual([await names(), await names({}, 2), await names({}, 3)], [["Home", "Beta"], ["Alpha"], []]);
      assert.deepEqual(await names({ order: "account.name" }), ["Alpha", "Beta"]);
      assert.deepEqual(await names({ order: "account.name", direction: "desc" }), ["Home", "Beta"]);
      assert.deepEqual(await names({ accountName: "Beta" }), ["Beta"]);
      assert.deepEqual(await names({ status: "pending" }), []);
      assert.equal(
        (await module.memberships.list(admin, { page: 1, perPage: 1 })).items[0]!.account.id,
        first.account.id,
      );
    });

    test("cannot be ended by the last administrator of an account", async (t) => {
      const { db, module, admin, first, caller } = await setUp(engine, t);
      const { membership } = (await module.memberships.list(admin, { page: 1, perPage: 1 })).items[0]!;
      await assert.rejects(module.memberships.delete(admin, membership.id), expectErrorKind("lastAdministrator"));
      await assert.rejects(
        module.memberships.setStatus(admin, membership.id, "rejected"),
        expectErrorKind("lastAdministrator"),
      );
      await assert.rejects(module.memberships.get(admin, "0".repeat(32)), expectErrorKind("noMembership"));
      const other = { id: "1".repeat(32), user_id: "2".repeat(32), account_id: first.account.id };
      await db
        .tables<AccountTables>()
        .insertInto("memberships")
        .values({ ...other, status: "accepted", role: "editor", created_at: 1 })
        .execute();
      await assert.rejects(module.memberships.delete(admin, membership.id), expectErrorKind("lastAdministrator"));
      await setRole(db, other.user_id, "administrator");
      assert.equal(
        (await module.memberships.setStatus(admin, membership.id, "rejected")).membership.status,
        "rejected",
      );
      assert.deepEqual((await caller(first.token)).accounts, []);
      await module.memberships.setStatus(admin, membership.id, "accepted");
      assert.deepEqual((await caller(first.token)).accounts, [first.account.id]);
      await module.memberships.delete(admin, membership.id);
      assert.ok(!(await caller(first.token)).allows("Stream Read", { account: first.account.id }));
    });

    test("limit the tokens of the member to the permissions of the role", async (t) => {
      const { db, module, first, admin, caller } = await setUp(engine, t);
      const [on, user] = [{ account: first.account.id }, { user: true as const }];
      const zone = { ...on, zone: "f".repeat(32) };
      const bucket = { ...on, bucket: "films", jurisdiction: "default" };
      const allowed = async () => {
        const by = await caller(first.token);
        return [
          by.allows("Stream Read", on) && by.allows("DNS Read", zone) && by.allows("Account Settings Read", on),
          by.allows("Workers R2 Storage Bucket Item Read", bucket),
          by.allows("Stream Write", on),
          by.allows("DNS Write", zone),
          by.allows("Workers R2 Storage Bucket Item Write", bucket),
          by.allows("AI Gateway Run", on),
          by.allows("Account Settings Write", on),
          by.allows("Account API Tokens Read", on),
          by.allows("User Details Write", user) && by.allows("API Tokens Write", user),
        ];
      };
      assert.deepEqual(await allowed(), Array(9).fill(true));
      const change = async (role: Role) => {
        await setRole(db, first.user.id, role);
        // Any change of a membership is announced.
        await module.createGlobalKey();
      };
      await change("editor");
      assert.deepEqual(await allowed(), [true, true, true, true, true, true, false, false, true]);
      await assert.rejects(
        module.tokens.create(on, { name: "deploy", policies: rolePolicies("viewer", first.account.id) }, admin),
        expectErrorKind("notAllowed"),
        "a request that began before the change",
      );
      await change("viewer");
      assert.deepEqual(await allowed(), [true, true, false, false, false, false, false, false, true]);
    });

    test("have a role whose policies a token can be created with", async (t) => {
      const { module, first, admin, mine, caller } = await setUp(engine, t);
      assert.deepEqual(
        roles.map(({ role }) => role),
        ["administrator", "editor", "viewer"],
      );
      for (const { role } of roles) {
        const policies = rolePolicies(role, first.account.id);
        const by = await caller((await module.tokens.create(mine, { name: role, policies }, admin)).value);
        assert.equal(by.allows("Stream Write", { account: first.account.id }), role !== "viewer");
        assert.ok(by.allows("DNS Read", { account: first.account.id, zone: "f".repeat(32) }));
      }
    });
  });
}

const setRole = (db: Db, user: string, role: Role) =>
  db.tables<AccountTables>().updateTable("memberships").set({ role }).where("user_id", "=", user).execute();
