import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, type UserError } from "../kernel/index.ts";
import { createLocalEvents } from "../store/index.ts";
import { createAccounts, type AccountsOptions } from "./create.ts";
import { accountsMigrations } from "./migrations.ts";
import { permissionGroups } from "./tokens/permission-groups.ts";
import type { TokenRequest } from "./tokens/types.ts";

const MINUTE = 60_000;
const ACCOUNT = "com.cloudflare.api.account";
const groups = (...names: string[]) => names.map((name) => permissionGroups.find((group) => group.name === name)!.id);

/** Behaviour of accounts and tokens on every database. */
export function accountsConformance(engine: TestEngine): void {
  async function setUp(t: TestContext, options: Partial<AccountsOptions> = {}) {
    const { db, another } = await engine.open(t, accountsMigrations);
    const clock = createManualClock(Date.UTC(2030, 0, 1));
    const events = createLocalEvents({ log: silentLog });
    const room = createAccounts({ db, clock, ids: randomIds, events, log: silentLog, ...options });
    t.after(() => room.close());
    const first = (await room.bootstrap({ accountName: "Home", email: "Ann@example.com" }))!;
    const caller = async (secret: string, more = {}) => (await room.authenticate({ secret, ...more }))!;
    const admin = await caller(first.token);
    const reader: TokenRequest = {
      name: "reader",
      policies: [
        { effect: "allow", groups: groups("Stream Read"), resources: { [`${ACCOUNT}.${first.account.id}`]: "*" } },
      ],
    };
    const mine = { user: first.user.id };
    return { db, another, clock, events, room, first, admin, caller, reader, mine };
  }

  const refused = (kind: string) => (thrown: unknown) => {
    assert.equal((thrown as UserError).kind, kind, String(thrown));
    return true;
  };

  describe("the first run", () => {
    test("creates a user, an account and a token with every permission, once", async (t) => {
      const { room, first, admin } = await setUp(t);
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
        }[scope];
        assert.ok(admin.allows(name, on), name);
      }
      assert.ok(!admin.allows("Stream Read", { account: "f".repeat(32) }), "an account that is not the user's");
      assert.equal(await room.bootstrap(), undefined);
      assert.equal((await room.accounts.get(admin, first.account.id)).name, "Home");
    });

    test("requires an email address that can be displayed", async (t) => {
      const { db } = await engine.open(t, accountsMigrations);
      const room = createAccounts({
        db,
        clock: createManualClock(1),
        ids: randomIds,
        events: createLocalEvents({ log: silentLog }),
        log: silentLog,
      });
      for (const email of ["", "ann", "ann@localhost", "ann@-x.example", "a b@example.com"])
        await assert.rejects(room.bootstrap({ email }), refused("badAccount"), email);
      assert.equal((await room.bootstrap({ email: "ann+x@mail.example.com" }))!.user.email, "ann+x@mail.example.com");
    });

    test("only one of two concurrent first runs creates the user", async (t) => {
      const { db, another } = await engine.open(t, accountsMigrations);
      const parts = {
        clock: createManualClock(1),
        ids: randomIds,
        events: createLocalEvents({ log: silentLog }),
        log: silentLog,
      };
      const rooms = [createAccounts({ db, ...parts }), createAccounts({ db: await another(), ...parts })];
      const made = await Promise.all(rooms.map((room) => room.bootstrap()));
      assert.equal(made.filter((each) => each !== undefined).length, 1);
    });

    test("replaces a lost token for an operator of the machine; fails before the first run", async (t) => {
      const { room, caller } = await setUp(t, { limits: { userTokens: 1 } });
      const { token } = await room.newAdminToken();
      assert.ok((await caller(token)).allows("API Tokens Write", { user: true }));
      const empty = await engine.open(t, accountsMigrations);
      const before = createAccounts({
        db: empty.db,
        clock: createManualClock(1),
        ids: randomIds,
        events: createLocalEvents({ log: silentLog }),
        log: silentLog,
      });
      await assert.rejects(before.newAdminToken(), refused("noUser"));
    });
  });

  describe("tokens", () => {
    test("are stored as a hash; the value is shown once", async (t) => {
      const { db, room, admin, reader, mine } = await setUp(t);
      const { token, value } = await room.tokens.create(mine, reader, admin);
      assert.deepEqual(await room.tokens.get(mine, token.id), token);
      const rows = await db.tables<{ tokens: Record<string, unknown> }>().selectFrom("tokens").selectAll().execute();
      assert.equal(rows.length, 2);
      assert.ok(!JSON.stringify(rows).includes(value));
    });

    test("authenticate the bearer with the permissions of their policies", async (t) => {
      const { room, first, admin, caller, reader, mine } = await setUp(t);
      const { token, value } = await room.tokens.create(mine, reader, admin);
      const found = await caller(value);
      assert.deepEqual([found.tokenId, found.accounts], [token.id, [first.account.id]]);
      assert.ok(found.allows("Stream Read", { account: first.account.id }));
      assert.ok(!found.allows("Stream Write", { account: first.account.id }));
      assert.equal(await caller("x".repeat(40)), undefined);
      assert.equal(await caller(""), undefined);
    });

    test("stop working as soon as they are revoked, rolled, disabled or narrowed", async (t) => {
      const { room, first, admin, caller, reader, mine } = await setUp(t);
      const make = async () => {
        const made = await room.tokens.create(mine, reader, admin);
        assert.ok(await caller(made.value));
        return made;
      };
      const revoked = await make();
      await room.tokens.delete(mine, revoked.token.id);
      assert.equal(await caller(revoked.value), undefined);
      await assert.rejects(room.tokens.get(mine, revoked.token.id), refused("noToken"));

      const rolled = await make();
      const next = await room.tokens.roll(mine, rolled.token.id, admin);
      assert.equal(await caller(rolled.value), undefined);
      assert.equal((await caller(next)).tokenId, rolled.token.id);

      const changed = await make();
      assert.equal(
        (await room.tokens.update(mine, changed.token.id, { ...reader, status: "disabled" }, admin)).status,
        "disabled",
      );
      assert.equal(await caller(changed.value), undefined);
      assert.equal(
        (await room.tokens.update(mine, changed.token.id, reader, admin)).status,
        "disabled",
        "silence about the status does not wake it",
      );
      await room.tokens.update(
        mine,
        changed.token.id,
        { ...reader, status: "active", policies: [{ ...reader.policies[0]!, groups: groups("D1 Read") }] },
        admin,
      );
      const narrowed = await caller(changed.value);
      assert.deepEqual(
        ["Stream Read", "D1 Read"].map((name) => narrowed.allows(name as "D1 Read", { account: first.account.id })),
        [false, true],
      );
    });

    test("stop working in the process that revokes them before its own notification arrives", async (t) => {
      const silent = { publish: () => {}, subscribe: () => () => {}, close: async () => {} };
      const { room, admin, caller, reader, mine } = await setUp(t, { events: silent });
      const { token, value } = await room.tokens.create(mine, reader, admin);
      assert.ok(await caller(value));
      const next = await room.tokens.roll(mine, token.id, admin);
      assert.equal(await caller(value), undefined);
      assert.ok(await caller(next));
      await room.tokens.delete(mine, token.id);
      assert.equal(await caller(next), undefined);
    });

    test("stop working in another process when the notification arrives", async (t) => {
      const { another, clock, events, room, admin, reader, mine } = await setUp(t);
      const other = createAccounts({ db: await another(), clock, ids: randomIds, events, log: silentLog });
      t.after(() => other.close());
      const { token, value } = await room.tokens.create(mine, reader, admin);
      assert.ok(await other.authenticate({ secret: value }));
      await room.tokens.delete(mine, token.id);
      assert.equal(await other.authenticate({ secret: value }), undefined);
    });

    test("stop working in another process within a few seconds if the notification is lost", async (t) => {
      const { another, clock, room, admin, reader, mine } = await setUp(t);
      const deaf = createAccounts({
        db: await another(),
        clock,
        ids: randomIds,
        events: createLocalEvents({ log: silentLog }),
        log: silentLog,
      });
      t.after(() => deaf.close());
      const { token, value } = await room.tokens.create(mine, reader, admin);
      assert.ok(await deaf.authenticate({ secret: value }));
      await room.tokens.delete(mine, token.id);
      clock.advance(5000);
      assert.equal(await deaf.authenticate({ secret: value }), undefined);
    });

    test("are valid from not_before until expires_on", async (t) => {
      const { clock, room, admin, caller, reader, mine } = await setUp(t);
      const start = clock.now();
      const { token, value } = await room.tokens.create(
        mine,
        { ...reader, notBefore: start + 2000, expiresAt: start + 4000 },
        admin,
      );
      const states: boolean[] = [];
      for (let second = 0; second < 6; second++) {
        states.push((await caller(value)) !== undefined);
        clock.advance(1000);
      }
      assert.deepEqual(states, [false, false, true, true, false, false]);
      assert.equal((await room.tokens.get(mine, token.id)).status, "expired");
      const page = { page: 1, perPage: 20 };
      assert.ok(!(await room.tokens.list(mine, page)).items.some(({ id }) => id === token.id));
      assert.ok((await room.tokens.list(mine, page, { includeExpired: true })).items.some(({ id }) => id === token.id));
      await room.tokens.update(
        mine,
        token.id,
        { ...reader, status: "expired", expiresAt: clock.now() + MINUTE },
        admin,
      );
      assert.ok(await caller(value), "a later end revives it");
    });

    test("end open sessions when they are revoked, changed, disabled or expired, and notify listeners", async (t) => {
      const { clock, room, admin, reader, mine } = await setUp(t);
      let changes = 0;
      const stop = room.onChanged(() => changes++);
      const make = async (more: Partial<TokenRequest> = {}) =>
        (await room.tokens.create(mine, { ...reader, ...more }, admin)).token.id;
      const [revoked, rolled, disabled, expiring, stays] = [
        await make(),
        await make(),
        await make(),
        await make({ expiresAt: clock.now() + 1000 }),
        await make(),
      ];
      const since = clock.now();
      const valid = async () =>
        (await Promise.all([revoked, rolled, disabled, expiring, stays].map((id) => room.stillValid(id, since)))).map(
          (caller) => caller !== undefined,
        );
      assert.deepEqual(await valid(), [true, true, true, true, true]);
      clock.advance(1000);
      changes = 0;
      await room.tokens.delete(mine, revoked);
      await room.tokens.roll(mine, rolled, admin);
      await room.tokens.update(mine, disabled, { ...reader, status: "disabled" }, admin);
      assert.ok(changes >= 3, `${changes} changes`);
      assert.deepEqual(await valid(), [false, false, false, false, true]);
      assert.ok(await room.stillValid(rolled, clock.now()), "with its new value");
      assert.equal(await room.stillValid("f".repeat(32), since), undefined);
      stop();
    });

    test("work only from their allowed addresses", async (t) => {
      const { room, admin, caller, reader, mine } = await setUp(t);
      const { value } = await room.tokens.create(mine, { ...reader, ip: { in: ["192.0.2.0/24"] } }, admin);
      assert.ok(await caller(value, { ip: "192.0.2.7" }));
      await assert.rejects(caller(value, { ip: "198.51.100.1" }), {
        message: "Cannot use the access token from location: 198.51.100.1",
      });
      await assert.rejects(caller(value), refused("wrongAddress"));
    });

    test("are rejected with the name of the invalid field", async (t) => {
      const { room, first, admin, reader, mine } = await setUp(t);
      const policy = reader.policies[0]!;
      const on = (
        resources: Record<string, string | Record<string, string>>,
        names = ["Stream Read"],
      ): Partial<TokenRequest> => ({ policies: [{ effect: "allow", groups: groups(...names), resources }] });
      const cases: [Partial<TokenRequest>, RegExp][] = [
        [{ policies: [] }, /policies: a token needs/],
        [{ policies: [{ ...policy, effect: "deny" }] }, /policies: .*allows something/],
        [{ policies: [policy, { ...policy, groups: [] }] }, /policies\.1\.permission_groups: /],
        [{ policies: [{ ...policy, groups: ["0".repeat(32)] }] }, /policies\.0\.permission_groups\.0\.id: /],
        [{ policies: Array.from({ length: 33 }, () => policy) }, /at most 32 policies/],
        [on({}), /policies\.0\.resources: /],
        [on({ foo: "*" }), /policies\.0\.resources: "foo"/],
        [on({ [`${ACCOUNT}.*`]: "read" }), /must be "\*"/],
        [on({ [`${ACCOUNT}.zone.*`]: "*" }), /Stream Read needs a resource com\.cloudflare\.api\.account\.<id>/],
        [
          on({ [`${ACCOUNT}.${first.account.id}`]: "*" }, ["DNS Read"]),
          /DNS Read needs a resource com\.cloudflare\.api\.account\.zone/,
        ],
        [on({ [`${ACCOUNT}.*`]: { [`${ACCOUNT}.*`]: "*" } }, ["DNS Read"]), /nested resources are/],
        [on({ [`${ACCOUNT}.zone.*`]: { [`${ACCOUNT}.zone.*`]: "*" } }, ["DNS Read"]), /only an account/],
        [
          on({ [`com.cloudflare.api.user.${"0".repeat(32)}`]: "*" }, ["User Details Read"]),
          /only the user who owns it/,
        ],
        [
          on(
            Object.fromEntries(
              Array.from({ length: 2049 }, (_, i) => [`${ACCOUNT}.${i.toString(16).padStart(32, "0")}`, "*"]),
            ),
          ),
          /at most 2048/,
        ],
        [{ expiresAt: 1 }, /expires_on: it is in the past/],
        [{ notBefore: Date.UTC(2031), expiresAt: Date.UTC(2030, 6) }, /not_before/],
        [{ ip: { in: ["nowhere"] } }, /condition\.request_ip\.in\.0/],
      ];
      for (const [change, message] of cases)
        await assert.rejects(room.tokens.create(mine, { ...reader, ...change }, admin), { kind: "badToken", message });
    });

    test("cannot grant more than the calling token allows", async (t) => {
      const { room, first, admin, caller, reader, mine } = await setUp(t);
      const maker: TokenRequest = {
        name: "maker",
        policies: [
          reader.policies[0]!,
          {
            effect: "allow",
            groups: groups("API Tokens Write"),
            resources: { [`com.cloudflare.api.user.${first.user.id}`]: "*" },
          },
        ],
      };
      const { token, value } = await room.tokens.create(mine, maker, admin);
      const by = await caller(value);
      const child = await room.tokens.create(mine, reader, by);
      assert.ok(child.value);
      const more: TokenRequest = {
        ...reader,
        policies: [
          { effect: "allow", groups: groups("Stream Write"), resources: { [`${ACCOUNT}.${first.account.id}`]: "*" } },
        ],
      };
      await assert.rejects(room.tokens.create(mine, more, by), {
        kind: "exceeds",
        fix: new RegExp(`"Stream Write" on account ${first.account.id}`),
      });
      await assert.rejects(room.tokens.update(mine, child.token.id, more, by), refused("exceeds"));
      await assert.rejects(room.tokens.update(mine, token.id, more, by), refused("exceeds"), "not even itself");
      const everywhere: TokenRequest = {
        ...reader,
        policies: [{ ...reader.policies[0]!, resources: { [`${ACCOUNT}.*`]: "*" } }],
      };
      await assert.rejects(room.tokens.create(mine, everywhere, by), refused("exceeds"));
      await assert.rejects(room.tokens.roll(mine, admin.tokenId, by), refused("exceeds"), "a stronger token's value");
      await room.tokens.roll(mine, child.token.id, by);
      await room.tokens.delete(mine, token.id);
      await assert.rejects(
        room.tokens.create(mine, reader, by),
        refused("invalidToken"),
        "revoked while its request was under way",
      );
    });

    test("cannot outlive the calling token or allow other addresses", async (t) => {
      const { clock, room, first, admin, caller, reader, mine } = await setUp(t);
      const bounds = { expiresAt: clock.now() + 60_000, ip: { in: ["192.0.2.0/24"] } };
      const maker: TokenRequest = {
        name: "maker",
        policies: [
          reader.policies[0]!,
          {
            effect: "allow",
            groups: groups("API Tokens Write"),
            resources: { [`com.cloudflare.api.user.${first.user.id}`]: "*" },
          },
        ],
      };
      const { token, value } = await room.tokens.create(mine, { ...maker, ...bounds }, admin);
      const by = await caller(value, { ip: "192.0.2.1" });
      for (const more of [
        {},
        { ...bounds, expiresAt: bounds.expiresAt + 1 },
        { expiresAt: bounds.expiresAt },
        { ...bounds, ip: { in: ["0.0.0.0/0"] } },
      ]) {
        await assert.rejects(room.tokens.create(mine, { ...reader, ...more }, by), refused("outlasts"));
        await assert.rejects(
          room.tokens.update(mine, token.id, { ...maker, ...more }, by),
          refused("outlasts"),
          "not even itself",
        );
      }
      const free = await room.tokens.create(mine, reader, admin);
      await assert.rejects(
        room.tokens.roll(mine, free.token.id, by),
        refused("outlasts"),
        "the value of one that is not limited",
      );
      assert.ok((await room.tokens.create(mine, { ...reader, ...bounds, expiresAt: bounds.expiresAt - 1 }, by)).value);
      assert.ok(await room.tokens.roll(mine, token.id, by));
    });

    test("of an account belong to that account only", async (t) => {
      const { room, first, admin, caller, reader, mine } = await setUp(t);
      const other = await room.accounts.create(admin, { name: "Other" });
      const owner = { account: other.id };
      await assert.rejects(room.tokens.create(owner, reader, admin), {
        kind: "badToken",
        message: /reaches only that account/,
      });
      const { token, value } = await room.tokens.create(
        owner,
        { ...reader, policies: [{ ...reader.policies[0]!, resources: { [`${ACCOUNT}.*`]: "*" } }] },
        admin,
      );
      const found = await caller(value);
      assert.deepEqual(found.accounts, [other.id]);
      assert.deepEqual(
        [other.id, first.account.id].map((account) => found.allows("Stream Read", { account })),
        [true, false],
      );
      assert.equal((await room.tokens.verify(found, owner)).id, token.id);
      await assert.rejects(room.tokens.verify(found, "user"), refused("invalidToken"));
      await assert.rejects(room.tokens.verify(admin, owner), refused("invalidToken"));
      await assert.rejects(room.tokens.get(mine, token.id), refused("noToken"));
      await assert.rejects(room.tokens.delete({ account: first.account.id }, token.id), refused("noToken"));
    });

    test("are listed by page, oldest first, and the list is finite", async (t) => {
      const { clock, room, admin, reader, mine } = await setUp(t);
      const made = [admin.tokenId];
      for (let i = 0; i < 4; i++) {
        clock.advance(10);
        made.push((await room.tokens.create(mine, reader, admin)).token.id);
      }
      const page = async (number: number, direction: "asc" | "desc" = "asc") => {
        const { items, total } = await room.tokens.list(mine, { page: number, perPage: 2 }, { direction });
        assert.equal(total, 5);
        return items.map(({ id }) => id);
      };
      assert.deepEqual([...(await page(1)), ...(await page(2)), ...(await page(3)), ...(await page(4))], made);
      assert.deepEqual(await page(1, "desc"), made.toReversed().slice(0, 2));
    });

    test("are limited in number", async (t) => {
      const { room, admin, reader, mine } = await setUp(t, { limits: { userTokens: 2 } });
      const results = await Promise.allSettled([1, 2, 3].map(() => room.tokens.create(mine, reader, admin)));
      assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
      await assert.rejects(room.tokens.create(mine, reader, admin), refused("tooManyTokens"));
    });

    test("keep the ids of unchanged policies", async (t) => {
      const { room, admin, reader, mine } = await setUp(t);
      const { token } = await room.tokens.create(mine, reader, admin);
      const [policy] = token.policies;
      const changed = await room.tokens.update(
        mine,
        token.id,
        {
          ...reader,
          policies: [
            { ...reader.policies[0]!, id: policy!.id },
            { ...reader.policies[0]!, id: "made up" },
          ],
        },
        admin,
      );
      assert.equal(changed.policies[0]!.id, policy!.id);
      assert.match(changed.policies[1]!.id, /^[0-9a-f]{32}$/);
    });

    test("record their last use approximately, with at most one write per minute", async (t) => {
      const { clock, room, admin, caller, reader, mine } = await setUp(t);
      const { token, value } = await room.tokens.create(mine, reader, admin);
      assert.equal(token.lastUsedAt, null);
      const used = async () => (await room.tokens.get(mine, token.id)).lastUsedAt;
      const first = clock.now();
      for (let i = 0; i < 50; i++) await caller(value);
      await room.flush();
      assert.equal(await used(), first);
      for (let second = 0; second < 50; second++) {
        clock.advance(1000);
        await caller(value);
      }
      await room.flush();
      assert.equal(await used(), first);
      clock.advance(20_000);
      await caller(value);
      await room.flush();
      assert.equal(await used(), first + 70_000);
    });
  });

  describe("users", () => {
    test("authenticate with their email address and a global key, or with one of their tokens", async (t) => {
      const { room, first, caller } = await setUp(t);
      const { key } = await room.newGlobalKey();
      assert.match(key, /^[0-9a-f]{37}$/);
      const email = "ann@EXAMPLE.com";
      const found = await caller(key, { email });
      assert.equal(found.user.id, first.user.id);
      assert.ok(found.allows("Workers Scripts Write", { account: first.account.id }));
      assert.equal(await caller(key), undefined, "the key alone is nothing");
      assert.equal(await caller(key, { email: "bob@example.com" }), undefined);
      assert.equal((await caller(first.token, { email })).user.id, first.user.id);
      assert.equal(await caller(first.token, { email: "bob@example.com" }), undefined);
      const next = await room.newGlobalKey();
      assert.equal(await caller(key, { email }), undefined);
      const again = await caller(next.key, { email });
      assert.ok(
        (
          await room.tokens.create(
            { user: first.user.id },
            {
              name: "by key",
              policies: [{ effect: "allow", groups: groups("D1 Write"), resources: { [`${ACCOUNT}.*`]: "*" } }],
            },
            again,
          )
        ).value,
      );
      await assert.rejects(room.tokens.verify(again, "user"), refused("invalidToken"));
    });

    test("update single fields", async (t) => {
      const { room, admin } = await setUp(t);
      await room.users.update(admin, { firstName: "Ann", country: "NL" });
      const user = await room.users.update(admin, { firstName: null, lastName: "Lee" });
      assert.deepEqual(
        [user.firstName, user.lastName, user.country, user.email],
        [null, "Lee", "NL", "Ann@example.com"],
      );
    });
  });

  describe("accounts", () => {
    const page = { page: 1, perPage: 2 };

    test("are created, listed, found by name, and updated", async (t) => {
      const { clock, room, first, admin, caller } = await setUp(t);
      for (const name of ["Two", "Three"]) {
        clock.advance(10);
        await room.accounts.create(admin, { name });
      }
      const by = await caller(first.token);
      const names = async (number: number, options = {}) =>
        (await room.accounts.list(by, { ...page, page: number }, options)).items.map(({ name }) => name);
      assert.deepEqual([await names(1), await names(2), await names(3)], [["Home", "Two"], ["Three"], []]);
      assert.deepEqual(await names(1, { direction: "desc" }), ["Three", "Two"]);
      assert.deepEqual(await names(1, { name: "Two" }), ["Two"]);
      const id = by.accounts[1]!;
      await room.accounts.update(id, { name: " Second ", settings: { abuseContactEmail: "abuse@example.com" } });
      const changed = await room.accounts.update(id, { name: "Second", settings: { enforceTwofactor: true } });
      assert.deepEqual(
        [changed.name, changed.settings],
        ["Second", { abuseContactEmail: "abuse@example.com", enforceTwofactor: true }],
      );
      for (const name of ["", "  ", "x".repeat(101), "a\u0000b"])
        await assert.rejects(room.accounts.create(by, { name }), refused("badAccount"));
      await assert.rejects(room.accounts.update("0".repeat(32), { name: "x" }), refused("noAccount"));
    });

    test("are usable immediately after their creation, and are deleted immediately with their tokens", async (t) => {
      const { room, first, admin, caller, reader } = await setUp(t);
      const made = "0".repeat(32);
      assert.equal(await room.accountExists(made), false);
      const { id } = await room.accounts.create(admin, { name: "Brief" });
      assert.equal(await room.accountExists(id), true);
      const by = await caller(first.token);
      assert.ok(by.allows("Stream Read", { account: id }));
      const { value } = await room.tokens.create(
        { account: id },
        { ...reader, policies: [{ ...reader.policies[0]!, resources: { [`${ACCOUNT}.${id}`]: "*" } }] },
        by,
      );
      assert.ok(await caller(value));
      await room.accounts.delete(id);
      assert.equal(await room.accountExists(id), false);
      assert.equal(await caller(value), undefined);
      assert.ok(!(await caller(first.token)).allows("Stream Read", { account: id }));
      await assert.rejects(room.accounts.get(by, made), refused("notAllowed"));
    });

    test("cannot be deleted if they are the last one or hold resources", async (t) => {
      const full = new Set<string>();
      const { room, first, admin } = await setUp(t, { contents: async (id) => (full.has(id) ? "2 zones" : undefined) });
      await assert.rejects(room.accounts.delete(first.account.id), refused("lastAccount"));
      const { id } = await room.accounts.create(admin, { name: "Other" });
      full.add(id);
      await assert.rejects(room.accounts.delete(id), {
        kind: "accountNotEmpty",
        message: "The account is not empty: it has 2 zones",
      });
      full.clear();
      await room.accounts.delete(id);
      await assert.rejects(room.accounts.delete(id), refused("noAccount"));
    });

    test("are limited in number", async (t) => {
      const { room, admin } = await setUp(t, { limits: { accounts: 2 } });
      await room.accounts.create(admin, { name: "Two" });
      await assert.rejects(room.accounts.create(admin, { name: "Three" }), refused("tooManyAccounts"));
    });
  });

  describe("memberships", () => {
    test("are listed with their accounts, filtered and sorted", async (t) => {
      const { clock, room, first, admin } = await setUp(t);
      for (const name of ["Beta", "Alpha"]) {
        clock.advance(10);
        await room.accounts.create(admin, { name });
      }
      const names = async (query = {}, page = 1) =>
        (await room.memberships.list(admin, { page, perPage: 2 }, query)).items.map(({ account }) => account.name);
      assert.deepEqual([await names(), await names({}, 2), await names({}, 3)], [["Home", "Beta"], ["Alpha"], []]);
      assert.deepEqual(await names({ order: "account.name" }), ["Alpha", "Beta"]);
      assert.deepEqual(await names({ order: "account.name", direction: "desc" }), ["Home", "Beta"]);
      assert.deepEqual(await names({ accountName: "Beta" }), ["Beta"]);
      assert.deepEqual(await names({ status: "pending" }), []);
      assert.equal(
        (await room.memberships.list(admin, { page: 1, perPage: 1 })).items[0]!.account.id,
        first.account.id,
      );
    });

    test("the last member of an account cannot leave", async (t) => {
      const { db, room, admin, first, caller } = await setUp(t);
      const { membership } = (await room.memberships.list(admin, { page: 1, perPage: 1 })).items[0]!;
      await assert.rejects(room.memberships.delete(admin, membership.id), refused("lastMember"));
      await assert.rejects(room.memberships.setStatus(admin, membership.id, "rejected"), refused("lastMember"));
      await assert.rejects(room.memberships.get(admin, "0".repeat(32)), refused("noMembership"));
      await db
        .tables<{ memberships: Record<string, unknown> }>()
        .insertInto("memberships")
        .values({
          id: "1".repeat(32),
          user_id: "2".repeat(32),
          account_id: first.account.id,
          status: "accepted",
          created_at: 1,
        })
        .execute();
      assert.equal((await room.memberships.setStatus(admin, membership.id, "rejected")).membership.status, "rejected");
      assert.deepEqual((await caller(first.token)).accounts, []);
      await room.memberships.setStatus(admin, membership.id, "accepted");
      assert.deepEqual((await caller(first.token)).accounts, [first.account.id]);
      await room.memberships.delete(admin, membership.id);
      assert.ok(!(await caller(first.token)).allows("Stream Read", { account: first.account.id }));
    });
  });
}
