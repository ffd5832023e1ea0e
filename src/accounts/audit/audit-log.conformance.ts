import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { createManualClock, randomIds, silentLog, type Log } from "../../kernel/index.ts";
import { createLocalEvents } from "../../store/index.ts";
import { expectErrorKind } from "../accounts.testing.ts";
import { createAccounts } from "../create.ts";
import { accountsMigrations } from "../migrations.ts";
import { createAuditLog } from "./audit-log.ts";
import type { AuditEvent } from "./types.ts";

const START = Date.UTC(2030, 0, 1);
const DAY_MS = 24 * 3_600_000;
const FIRST_PAGE = { page: 1, perPage: 100 };

export function auditLogConformance(engine: TestEngine): void {
  async function open(t: TestContext, { days = 30, maxEntries = 1000, log = silentLog as Log } = {}) {
    const { db } = await engine.open(t, accountsMigrations);
    const clock = createManualClock(START);
    const module = createAccounts({
      db,
      clock,
      ids: randomIds,
      events: createLocalEvents({ log: silentLog }),
      log: silentLog,
    });
    t.after(() => module.close());
    const { user, account, token } = (await module.bootstrap({ email: "Ann@example.com" }))!;
    const audit = createAuditLog({ db, clock, ids: randomIds, log, days, maxEntries });
    await clock.advance(1000);
    const change = (more: Partial<AuditEvent> = {}): AuditEvent => ({
      actor: { id: user.id, email: user.email },
      interface: "API",
      credential: "1".repeat(32),
      ip: "192.0.2.7",
      userAgent: "test/1.0",
      request: { id: "2".repeat(32), method: "PATCH", path: "/zones/z/dns_records/r", params: { dns_record_id: "r" } },
      operation: "update-record",
      summary: "Update a DNS record",
      action: "update",
      account: account.id,
      zone: { id: "3".repeat(32), name: "example.com" },
      resource: { type: "dns_records", id: "r" },
      before: { ttl: 60 },
      after: { ttl: 300 },
      ...more,
    });
    const mine = { account: account.id };
    const operations = async (query = {}, scope: Parameters<typeof audit.list>[0] = mine) =>
      (await audit.list(scope, query, FIRST_PAGE)).items.map(({ operation }) => operation);
    return { db, clock, audit, module, user, account, token, change, mine, operations };
  }

  test("stores a change with its author, origin, and values", async (t) => {
    const { audit, change, mine, user, clock } = await open(t);
    const event = change();
    await audit.record(event);
    const { items, total } = await audit.list(mine, { operation: "update-record" }, FIRST_PAGE);
    assert.equal(total, 1);
    const { id, ...entry } = items[0]!;
    assert.match(id, /^[0-9a-f]{32}$/);
    const { account: owner, ...stored } = event;
    assert.deepEqual(entry, {
      ...stored,
      at: clock.now(),
      owner,
      scope: "account",
      user: user.id,
      before: '{"ttl":60}',
      after: '{"ttl":300}',
    });
  });

  test("records the first run, and resources created on the machine", async (t) => {
    const { audit, module, mine, user, account, token } = await open(t);
    const admin = await module.createAdminToken();
    const { key } = await module.createGlobalKey();
    const { items } = await audit.list(mine, { direction: "asc" }, FIRST_PAGE);
    assert.deepEqual(
      items.map(({ operation, interface: via, actor, scope }) => [operation, via, actor, scope]).sort(),
      [
        ["create-admin-token", "command line", undefined, "user"],
        ["create-global-key", "command line", undefined, "user"],
        ["first-run", "system", undefined, "account"],
      ],
    );
    const { items: own } = await audit.list({ user: user.id, accounts: [account.id] }, {}, FIRST_PAGE);
    assert.equal(own.length, 3);
    for (const secret of [token, admin.token, key]) assert.ok(!JSON.stringify([items, own]).includes(secret));
  });

  test("lists entries in pages, ordered by time, newest first by default", async (t) => {
    const { audit, clock, change, mine, operations } = await open(t);
    for (let number = 0; number < 5; number++) {
      await audit.record(change({ operation: `change-${number}` }));
      if (number % 2 === 1) await clock.advance(1000);
    }
    const newest = await operations();
    assert.equal(newest[0], "change-4");
    assert.equal(newest.at(-1), "first-run");
    assert.deepEqual(await operations({ direction: "asc" }), newest.toReversed());
    const pages = await Promise.all([1, 2, 3, 4].map((page) => audit.list(mine, {}, { page, perPage: 2 })));
    assert.deepEqual(
      pages.flatMap(({ items }) => items.map(({ operation }) => operation)),
      newest,
    );
    assert.deepEqual(new Set(pages.map(({ total }) => total)), new Set([6]));
  });

  test("filters by each field", async (t) => {
    const { audit, clock, change, mine, operations } = await open(t);
    await audit.record(change({ operation: "first" }));
    await clock.advance(1000);
    const between = clock.now();
    await audit.record(
      change({
        operation: "second",
        action: "delete",
        actor: { id: "9".repeat(32), email: "Bob@Example.com" },
        credential: "8".repeat(32),
        ip: "2001:db8::5",
        zone: { id: "7".repeat(32), name: "example.net" },
        resource: { type: "videos", id: "v" },
      }),
    );
    const [second] = (await audit.list(mine, { operation: "second" }, FIRST_PAGE)).items;
    for (const query of [
      { id: second!.id },
      { action: "delete" },
      { operation: "second" },
      { resourceType: "videos" },
      { resourceId: "v" },
      { actorEmail: "bob@example.COM" },
      { actorIp: "2001:db8::5" },
      { actorIp: "2001:db8::/64" },
      { credential: "8".repeat(32) },
      { zoneName: "Example.net" },
      { since: between },
    ])
      assert.deepEqual(await operations(query), ["second"], JSON.stringify(query));
    assert.deepEqual(await operations({ until: between }), ["first", "first-run"]);
    assert.deepEqual(await operations({ actorIp: "192.0.2.0/24" }), ["first"]);
    assert.deepEqual(await operations({ actorEmail: "unknown@example.com" }), []);
    await assert.rejects(operations({ actorIp: "192.0.2.0/40" }), expectErrorKind("badAuditFilter"));
  });

  test("shows in the accounts of a user that the user made a change, without its values", async (t) => {
    const { audit, change, user, account, mine, operations } = await open(t);
    await audit.record(change({ operation: "own", account: undefined, zone: undefined, after: { name: "elsewhere" } }));
    const [shown] = (await audit.list(mine, { operation: "own" }, FIRST_PAGE)).items;
    assert.deepEqual([shown!.scope, shown!.before, shown!.after], ["user", undefined, undefined]);
    assert.deepEqual(await operations({ hideUserLogs: true }), ["first-run"]);

    const ofUser = { user: user.id, accounts: [account.id] };
    const [own, ...others] = (await audit.list(ofUser, { operation: "own" }, FIRST_PAGE)).items;
    assert.deepEqual([own!.after, others], ['{"name":"elsewhere"}', []]);
    assert.deepEqual(await operations({ hideUserLogs: true }, ofUser), ["first-run"]);
    assert.deepEqual(await operations({}, { user: user.id, accounts: [] }), ["own"]);
    assert.deepEqual(await operations({}, { user: "0".repeat(32), accounts: [account.id] }), []);
  });

  test("stores any text", async (t) => {
    const { audit, change, mine } = await open(t);
    const odd = "\0 \ud800 '\" é 漢 \u2028";
    await audit.record(
      change({
        operation: "odd",
        userAgent: odd,
        resource: { type: "keys", id: odd },
        request: { id: "2".repeat(32), method: "PUT", path: odd, params: { key_name: odd } },
        after: { [odd]: odd },
      }),
    );
    const [entry] = (await audit.list(mine, { operation: "odd" }, FIRST_PAGE)).items;
    assert.equal(entry!.userAgent, odd);
    assert.deepEqual(JSON.parse(entry!.after!), { [odd]: odd });
  });

  test("bounds the stored values and texts", async (t) => {
    const { audit, change, mine } = await open(t);
    const long = "x".repeat(100_000);
    await audit.record(
      change({
        operation: "long",
        userAgent: long,
        resource: { type: "keys", id: long },
        before: long,
        after: { id: "1", long },
      }),
    );
    const [entry] = (await audit.list(mine, { operation: "long" }, FIRST_PAGE)).items;
    assert.equal(entry!.before, '"[omitted: 100002 bytes]"');
    assert.deepEqual(JSON.parse(entry!.after!), { id: "1", long: "[omitted: 100002 bytes]" });
    assert.equal(entry!.userAgent!.length, 512);
    assert.equal(entry!.resource.id!.length, 512);
  });

  test("deletes entries past the retention period, and the oldest beyond the maximum", async (t) => {
    const { audit, clock, change, operations } = await open(t, { days: 30, maxEntries: 3 });
    await audit.record(change({ operation: "old" }));
    await clock.advance(30 * DAY_MS);
    for (const operation of ["1", "2", "3", "4"]) {
      await clock.advance(1);
      await audit.record(change({ operation }));
    }
    assert.equal(await audit.sweep(), 3);
    assert.deepEqual(await operations(), ["4", "3", "2"]);
    assert.equal(await audit.sweep(), 0);
  });

  test("writes the entry to the server's log if the database fails", async (t) => {
    const lines: { entry?: { operation: string; after: string } }[] = [];
    const log = { ...silentLog, error: (line: object) => void lines.push(line) } as unknown as Log;
    const { audit, db, change } = await open(t, { log });
    await db.close();
    await audit.record(change());
    assert.deepEqual(
      lines.map(({ entry }) => [entry?.operation, entry?.after]),
      [["update-record", '{"ttl":300}']],
    );
  });
}
