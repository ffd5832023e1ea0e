import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../test/support/databases.ts";
import { randomIds, silentLog } from "../kernel/index.ts";
import { createLocalEvents } from "../store/index.ts";
import { createAccounts } from "./create.ts";
import type { TokenRequest } from "./tokens/types.ts";
import { MINUTE, ACCOUNT, groups, expectErrorKind, setUp } from "./accounts.testing.ts";

/** Behavior of API tokens on every database. */
export function tokensConformance(engine: TestEngine): void {
  describe("tokens", () => {
    test("are stored as a hash; the value is shown once", async (t) => {
      const { db, module, admin, reader, mine } = await setUp(engine, t);
      const { token, value } = await module.tokens.create(mine, reader, admin);
      assert.deepEqual(await module.tokens.get(mine, token.id), token);
      const rows = await db.tables<{ tokens: Record<string, unknown> }>().selectFrom("tokens").selectAll().execute();
      assert.equal(rows.length, 2);
      assert.ok(!JSON.stringify(rows).includes(value));
    });

    test("authenticate the bearer with the permissions of their policies", async (t) => {
      const { module, first, admin, caller, reader, mine } = await setUp(engine, t);
      const { token, value } = await module.tokens.create(mine, reader, admin);
      const found = await caller(value);
      assert.deepEqual([found.tokenId, found.accounts], [token.id, [first.account.id]]);
      assert.ok(found.allows("Stream Read", { account: first.account.id }));
      assert.ok(!found.allows("Stream Write", { account: first.account.id }));
      assert.equal(await caller("x".repeat(40)), undefined);
      assert.equal(await caller(""), undefined);
    });

    test("stop working as soon as they are revoked, rolled, disabled or restricted further", async (t) => {
      const { module, first, admin, caller, reader, mine } = await setUp(engine, t);
      const make = async () => {
        const made = await module.tokens.create(mine, reader, admin);
        assert.ok(await caller(made.value));
        return made;
      };
      const revoked = await make();
      await module.tokens.delete(mine, revoked.token.id);
      assert.equal(await caller(revoked.value), undefined);
      await assert.rejects(module.tokens.get(mine, revoked.token.id), expectErrorKind("noToken"));

      const rolled = await make();
      const next = await module.tokens.roll(mine, rolled.token.id, admin);
      assert.equal(await caller(rolled.value), undefined);
      assert.equal((await caller(next)).tokenId, rolled.token.id);

      const changed = await make();
      assert.equal(
        (await module.tokens.update(mine, changed.token.id, { ...reader, status: "disabled" }, admin)).status,
        "disabled",
      );
      assert.equal(await caller(changed.value), undefined);
      assert.equal(
        (await module.tokens.update(mine, changed.token.id, reader, admin)).status,
        "disabled",
        "an update without a status does not enable it",
      );
      await module.tokens.update(
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
      const { module, admin, caller, reader, mine } = await setUp(engine, t, { events: silent });
      const { token, value } = await module.tokens.create(mine, reader, admin);
      assert.ok(await caller(value));
      const next = await module.tokens.roll(mine, token.id, admin);
      assert.equal(await caller(value), undefined);
      assert.ok(await caller(next));
      await module.tokens.delete(mine, token.id);
      assert.equal(await caller(next), undefined);
    });

    test("stop working in another process when the notification arrives", async (t) => {
      const { another, clock, events, module, admin, reader, mine } = await setUp(engine, t);
      const other = createAccounts({ db: await another(), clock, ids: randomIds, events, log: silentLog });
      t.after(() => other.close());
      const { token, value } = await module.tokens.create(mine, reader, admin);
      assert.ok(await other.authenticate({ secret: value }));
      await module.tokens.delete(mine, token.id);
      assert.equal(await other.authenticate({ secret: value }), undefined);
    });

    test("stop working in another process within a few seconds if the notification is lost", async (t) => {
      const { another, clock, module, admin, reader, mine } = await setUp(engine, t);
      const withoutEvents = createAccounts({
        db: await another(),
        clock,
        ids: randomIds,
        events: createLocalEvents({ log: silentLog }),
        log: silentLog,
      });
      t.after(() => withoutEvents.close());
      const { token, value } = await module.tokens.create(mine, reader, admin);
      assert.ok(await withoutEvents.authenticate({ secret: value }));
      await module.tokens.delete(mine, token.id);
      clock.advance(5000);
      assert.equal(await withoutEvents.authenticate({ secret: value }), undefined);
    });

    test("are valid from not_before until expires_on", async (t) => {
      const { clock, module, admin, caller, reader, mine } = await setUp(engine, t);
      const start = clock.now();
      const { token, value } = await module.tokens.create(
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
      assert.equal((await module.tokens.get(mine, token.id)).status, "expired");
      const page = { page: 1, perPage: 20 };
      assert.ok(!(await module.tokens.list(mine, page)).items.some(({ id }) => id === token.id));
      assert.ok(
        (await module.tokens.list(mine, page, { includeExpired: true })).items.some(({ id }) => id === token.id),
      );
      await module.tokens.update(
        mine,
        token.id,
        { ...reader, status: "expired", expiresAt: clock.now() + MINUTE },
        admin,
      );
      assert.ok(await caller(value), "a later expiration reactivates it");
    });

    test("end open sessions when they are revoked, changed, disabled or expired, and notify listeners", async (t) => {
      const { clock, module, admin, reader, mine } = await setUp(engine, t);
      let changes = 0;
      const stop = module.onChanged(() => changes++);
      const make = async (more: Partial<TokenRequest> = {}) =>
        (await module.tokens.create(mine, { ...reader, ...more }, admin)).token.id;
      const [revoked, rolled, disabled, expiring, stays] = [
        await make(),
        await make(),
        await make(),
        await make({ expiresAt: clock.now() + 1000 }),
        await make(),
      ];
      const since = clock.now();
      const valid = async () =>
        (await Promise.all([revoked, rolled, disabled, expiring, stays].map((id) => module.stillValid(id, since)))).map(
          (caller) => caller !== undefined,
        );
      assert.deepEqual(await valid(), [true, true, true, true, true]);
      clock.advance(1000);
      changes = 0;
      await module.tokens.delete(mine, revoked);
      await module.tokens.roll(mine, rolled, admin);
      await module.tokens.update(mine, disabled, { ...reader, status: "disabled" }, admin);
      assert.ok(changes >= 3, `${changes} changes`);
      assert.deepEqual(await valid(), [false, false, false, false, true]);
      assert.ok(await module.stillValid(rolled, clock.now()), "the new value is valid");
      assert.equal(await module.stillValid("f".repeat(32), since), undefined);
      stop();
    });

    test("work only from their allowed addresses", async (t) => {
      const { module, admin, caller, reader, mine } = await setUp(engine, t);
      const { value } = await module.tokens.create(mine, { ...reader, ip: { in: ["192.0.2.0/24"] } }, admin);
      assert.ok(await caller(value, { ip: "192.0.2.7" }));
      await assert.rejects(caller(value, { ip: "198.51.100.1" }), {
        message: "Cannot use the access token from location: 198.51.100.1",
      });
      await assert.rejects(caller(value), expectErrorKind("wrongAddress"));
    });

    test("are rejected with the name of the invalid field", async (t) => {
      const { module, first, admin, reader, mine } = await setUp(engine, t);
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
        [on({ [`${ACCOUNT}.*`]: { [`${ACCOUNT}.*`]: "*" } }, ["DNS Read"]), /nested resources must be/],
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
        await assert.rejects(module.tokens.create(mine, { ...reader, ...change }, admin), {
          kind: "badToken",
          message,
        });
    });

    test("cannot grant more permissions than the calling token has", async (t) => {
      const { module, first, admin, caller, reader, mine } = await setUp(engine, t);
      const creator: TokenRequest = {
        name: "creator",
        policies: [
          reader.policies[0]!,
          {
            effect: "allow",
            groups: groups("API Tokens Write"),
            resources: { [`com.cloudflare.api.user.${first.user.id}`]: "*" },
          },
        ],
      };
      const { token, value } = await module.tokens.create(mine, creator, admin);
      const by = await caller(value);
      const child = await module.tokens.create(mine, reader, by);
      assert.ok(child.value);
      const more: TokenRequest = {
        ...reader,
        policies: [
          { effect: "allow", groups: groups("Stream Write"), resources: { [`${ACCOUNT}.${first.account.id}`]: "*" } },
        ],
      };
      await assert.rejects(module.tokens.create(mine, more, by), {
        kind: "exceeds",
        fix: new RegExp(`"Stream Write" on account ${first.account.id}`),
      });
      await assert.rejects(module.tokens.update(mine, child.token.id, more, by), expectErrorKind("exceeds"));
      await assert.rejects(
        module.tokens.update(mine, token.id, more, by),
        expectErrorKind("exceeds"),
        "not even the calling token itself",
      );
      const everywhere: TokenRequest = {
        ...reader,
        policies: [{ ...reader.policies[0]!, resources: { [`${ACCOUNT}.*`]: "*" } }],
      };
      await assert.rejects(module.tokens.create(mine, everywhere, by), expectErrorKind("exceeds"));
      await assert.rejects(
        module.tokens.roll(mine, admin.tokenId, by),
        expectErrorKind("exceeds"),
        "rolling a stronger token",
      );
      await module.tokens.roll(mine, child.token.id, by);
      await module.tokens.delete(mine, token.id);
      await assert.rejects(
        module.tokens.create(mine, reader, by),
        expectErrorKind("invalidToken"),
        "revoked during its own request",
      );
    });

    test("cannot outlive the calling token or allow other addresses", async (t) => {
      const { clock, module, first, admin, caller, reader, mine } = await setUp(engine, t);
      const bounds = { expiresAt: clock.now() + 60_000, ip: { in: ["192.0.2.0/24"] } };
      const creator: TokenRequest = {
        name: "creator",
        policies: [
          reader.policies[0]!,
          {
            effect: "allow",
            groups: groups("API Tokens Write"),
            resources: { [`com.cloudflare.api.user.${first.user.id}`]: "*" },
          },
        ],
      };
      const { token, value } = await module.tokens.create(mine, { ...creator, ...bounds }, admin);
      const by = await caller(value, { ip: "192.0.2.1" });
      for (const more of [
        {},
        { ...bounds, expiresAt: bounds.expiresAt + 1 },
        { expiresAt: bounds.expiresAt },
        { ...bounds, ip: { in: ["0.0.0.0/0"] } },
      ]) {
        await assert.rejects(module.tokens.create(mine, { ...reader, ...more }, by), expectErrorKind("outlasts"));
        await assert.rejects(
          module.tokens.update(mine, token.id, { ...creator, ...more }, by),
          expectErrorKind("outlasts"),
          "not even the calling token itself",
        );
      }
      const free = await module.tokens.create(mine, reader, admin);
      await assert.rejects(
        module.tokens.roll(mine, free.token.id, by),
        expectErrorKind("outlasts"),
        "rolling an unlimited token",
      );
      assert.ok(
        (await module.tokens.create(mine, { ...reader, ...bounds, expiresAt: bounds.expiresAt - 1 }, by)).value,
      );
      assert.ok(await module.tokens.roll(mine, token.id, by));
    });

    test("of an account belong to that account only", async (t) => {
      const { module, first, admin, caller, reader, mine } = await setUp(engine, t);
      const other = await module.accounts.create(admin, { name: "Other" });
      const owner = { account: other.id };
      await assert.rejects(module.tokens.create(owner, reader, admin), {
        kind: "badToken",
        message: /can access only its account/,
      });
      const { token, value } = await module.tokens.create(
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
      assert.equal((await module.tokens.verify(found, owner)).id, token.id);
      await assert.rejects(module.tokens.verify(found, "user"), expectErrorKind("invalidToken"));
      await assert.rejects(module.tokens.verify(admin, owner), expectErrorKind("invalidToken"));
      await assert.rejects(module.tokens.get(mine, token.id), expectErrorKind("noToken"));
      await assert.rejects(module.tokens.delete({ account: first.account.id }, token.id), expectErrorKind("noToken"));
    });

    test("are listed in pages, oldest first, and the list ends", async (t) => {
      const { clock, module, admin, reader, mine } = await setUp(engine, t);
      const made = [admin.tokenId];
      for (let i = 0; i < 4; i++) {
        clock.advance(10);
        made.push((await module.tokens.create(mine, reader, admin)).token.id);
      }
      const page = async (number: number, direction: "asc" | "desc" = "asc") => {
        const { items, total } = await module.tokens.list(mine, { page: number, perPage: 2 }, { direction });
        assert.equal(total, 5);
        return items.map(({ id }) => id);
      };
      assert.deepEqual([...(await page(1)), ...(await page(2)), ...(await page(3)), ...(await page(4))], made);
      assert.deepEqual(await page(1, "desc"), made.toReversed().slice(0, 2));
    });

    test("are limited in number", async (t) => {
      const { module, admin, reader, mine } = await setUp(engine, t, { limits: { userTokens: 2 } });
      const results = await Promise.allSettled([1, 2, 3].map(() => module.tokens.create(mine, reader, admin)));
      assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
      await assert.rejects(module.tokens.create(mine, reader, admin), expectErrorKind("tooManyTokens"));
    });

    test("keep the ids of unchanged policies", async (t) => {
      const { module, admin, reader, mine } = await setUp(engine, t);
      const { token } = await module.tokens.create(mine, reader, admin);
      const [policy] = token.policies;
      const changed = await module.tokens.update(
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
      const { clock, module, admin, caller, reader, mine } = await setUp(engine, t);
      const { token, value } = await module.tokens.create(mine, reader, admin);
      assert.equal(token.lastUsedAt, null);
      const used = async () => (await module.tokens.get(mine, token.id)).lastUsedAt;
      const first = clock.now();
      for (let i = 0; i < 50; i++) await caller(value);
      await module.flush();
      assert.equal(await used(), first);
      for (let second = 0; second < 50; second++) {
        clock.advance(1000);
        await caller(value);
      }
      await module.flush();
      assert.equal(await used(), first);
      clock.advance(20_000);
      await caller(value);
      await module.flush();
      assert.equal(await used(), first + 70_000);
    });
  });
}
