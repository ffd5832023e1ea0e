import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { silentLog } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import { createActivity } from "./activity.ts";
import { ACCOUNT, openActivity, OTHER_ACCOUNT, START, ZONE } from "./activity.testing.ts";
import type { EntryTables } from "./entries-table.ts";
import type { EntryQuery } from "./types.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

export function logConformance(engine: TestEngine): void {
  describe("the message log", () => {
    test("is read page by page, newest first, to the end", async (t) => {
      const { activity, forwarded } = await openActivity(t, engine);
      for (let n = 1; n <= 25; n++) forwarded(n, { minutes: 1 });
      const seen: string[] = [];
      for (let after: string | undefined, pages = 0; ; pages++) {
        const { items, next } = await activity.search({
          account: ACCOUNT,
          limit: 10,
          ...(after !== undefined && { after }),
        });
        seen.push(...items.map(({ subject }) => subject!));
        if (next === undefined) {
          assert.equal(pages, 2);
          break;
        }
        after = next;
      }
      assert.deepEqual(
        seen,
        Array.from({ length: 25 }, (_, i) => `Message ${25 - i}`),
      );
      assert.deepEqual(await activity.search({ account: OTHER_ACCOUNT }), { items: [], next: undefined });
      for (const after of ["", "x", "zz-1", `1-${"g".repeat(32)}`])
        await assert.rejects(activity.search({ account: ACCOUNT, after }), /cursor does not belong to this list/);
    });

    test("is searched by address, subject, status, action and time", async (t) => {
      const { activity, forwarded, recordStep } = await openActivity(t, engine);
      for (let n = 1; n <= 6; n++) forwarded(n, { outcome: n === 3 ? "bounced" : "delivered" });
      recordStep("m9", "received", { from: "x@there.example", to: ["Ünï%_code@here.example"], subject: "100% of_it" });
      recordStep("m9", "dropped", {}, { rcpt: "Ünï%_code@here.example" });
      const found = async (query: EntryQuery) => {
        const { items } = await activity.search(query);
        return items.map(({ subject }) => subject!.replace("Message ", "")).join(" ");
      };
      const cases: [EntryQuery, string][] = [
        [{ account: ACCOUNT, from: "SENDER2@there.example" }, "2"],
        [{ account: ACCOUNT, to: "box5@HERE.example" }, "5"],
        [{ account: ACCOUNT, from: "sender2@there.example", to: "box5@here.example" }, ""],
        [{ account: ACCOUNT, from: "sender2@there.example", to: "box2@here.example" }, "2"],
        [{ zone: ZONE, from: "sender4@there.example" }, "4"],
        [{ zone: ZONE, account: ACCOUNT, to: "box4@here.example", status: "delivered" }, "4"],
        [{ zone: ZONE, account: OTHER_ACCOUNT }, ""],
        [{ account: ACCOUNT, status: "deliveryFailed" }, "3"],
        [{ account: ACCOUNT, action: "drop" }, "100% of_it"],
        [{ account: ACCOUNT, kind: "sending" }, ""],
        [{ account: ACCOUNT, until: START + 3 * MINUTE, hidden: { routing: [], sending: [ZONE] } }, "2 1"],
        [{ account: ACCOUNT, until: START + 3 * MINUTE, hidden: { routing: [ZONE, "0"], sending: [] } }, ""],
        [{ account: ACCOUNT, kind: "routing", search: "mEsSaGe 6" }, "6"],
        [{ account: ACCOUNT, search: "<in-1@" }, "1"],
        [{ account: ACCOUNT, search: "box2" }, "2"],
        [{ account: ACCOUNT, search: "%" }, "100% of_it"],
        [{ account: ACCOUNT, search: "f_i" }, "100% of_it"],
        [{ account: ACCOUNT, search: "\\" }, ""],
        [{ account: ACCOUNT, search: "'; drop table email_log; --" }, ""],
        [{ account: ACCOUNT, since: START + 2 * MINUTE, until: START + 4 * MINUTE }, "3 2"],
        [{ zone: ZONE, kind: "routing", since: START + 5 * MINUTE }, "100% of_it 6 5"],
      ];
      for (const [query, expected] of cases) assert.equal(await found(query), expected, JSON.stringify(query));
    });

    test("scans a limited number of entries per page if few match, and returns a cursor", async (t) => {
      const { activity, db, forwarded } = await openActivity(t, engine);
      forwarded(1);
      await activity.flush();
      await fill(db, 12_000);
      let looked = 0;
      const found: string[] = [];
      for (let after: string | undefined; ; looked++) {
        const { items, next } = await activity.search({
          account: ACCOUNT,
          search: "message 1",
          ...(after !== undefined && { after }),
        });
        found.push(...items.map(({ subject }) => subject!));
        if (next === undefined) break;
        after = next;
      }
      assert.deepEqual([found, looked], [["Message 1"], 2]);
    });

    test("counts any number of entries by column values", async (t) => {
      const { activity, db, forwarded } = await openActivity(t, engine);
      for (let n = 1; n <= 6; n++) forwarded(n, { minutes: n * 20, outcome: n === 3 ? "bounced" : "delivered" });
      await activity.flush();
      const all = { zone: ZONE, kind: "routing" as const, since: START, until: START + 24 * HOUR, filter: { all: [] } };
      const counted = async (query: Partial<Parameters<typeof activity.count>[0]>) =>
        (await activity.count({ ...all, groupBy: [], ...query }))
          .map(({ count, values }) => [...values, count].join(" "))
          .sort();
      assert.deepEqual(await counted({}), ["6"]);
      assert.deepEqual(await counted({ groupBy: ["status", "rule"] }), [
        "delivered rule-0 3",
        "delivered rule-1 2",
        "deliveryFailed rule-1 1",
      ]);
      assert.deepEqual(await counted({ groupBy: [`at/${HOUR}`] }), [
        `${START} 2`,
        `${START + HOUR} 3`,
        `${START + 2 * HOUR} 1`,
      ]);
      assert.deepEqual(
        await counted({
          filter: {
            any: [
              { column: "status", operator: "=", value: "deliveryFailed" },
              { column: `at/${HOUR}`, operator: ">=", value: START + 2 * HOUR },
            ],
          },
        }),
        ["2"],
      );
      assert.deepEqual(
        await counted({
          filter: {
            all: [
              { column: "rule", operator: "in", value: ["rule-1"] },
              { column: "status", operator: "!=", value: "deliveryFailed" },
            ],
          },
        }),
        ["2"],
      );
      assert.deepEqual(
        await counted({
          filter: {
            all: [
              { column: "script", operator: "=", value: null },
              { column: "subject", operator: "like", value: "%age 4" },
            ],
          },
        }),
        ["1"],
      );
      assert.deepEqual(await counted({ filter: { all: [{ column: "status", operator: "in", value: [] }] } }), []);
      assert.deepEqual(await counted({ kind: "sending" }), []);
      await fill(db, 45_000);
      assert.deepEqual(await counted({ groupBy: ["status"], since: START - 30 * 24 * HOUR }), [
        "delivered 5",
        "deliveryFailed 1",
        "dropped 45000",
      ]);
      const order = async (column: "at" | "rcpt_key", descending: boolean) =>
        (
          await activity.first({
            ...all,
            since: START - 30 * 24 * HOUR,
            order: [{ column, descending }],
            limit: 3,
            columns: ["rcpt"],
          })
        )
          .map(([to]) => String(to).split("@")[0])
          .join(" ");
      assert.deepEqual(
        [
          await order("at", true),
          await order("at", false),
          await order("rcpt_key", false),
          await order("rcpt_key", true),
        ],
        ["box6 box5 box4", "fill0 fill1 fill2", "box1 box2 box3", "fill9 fill99 fill999"],
      );
    });

    test("limits the entries a query may cover", async (t) => {
      const { activity, db, clock } = await openActivity(t, engine, { limits: { maxCounted: 20_000 } });
      await fill(db, 25_000);
      await assert.rejects(
        activity.count({ zone: ZONE, kind: "routing", since: 0, until: START, filter: { all: [] }, groupBy: [] }),
        /more than 20000 messages/,
      );
      const another = createActivity({ db, clock, log: silentLog });
      await assert.rejects(
        another.count({ zone: ZONE, kind: "routing", since: 0, until: START, filter: { all: [] }, groupBy: ["rcpt"] }),
        /more than 20000 messages/,
        "the limit also applies to grouped counts",
      );
      await another.close();
    });

    test("deletes entries after the retention period", async (t) => {
      const { activity, forwarded, clock } = await openActivity(t, engine, { days: 2 });
      forwarded(1);
      clock.advance(24 * HOUR);
      forwarded(2);
      await activity.flush();
      assert.equal(await activity.sweep(), 0);
      clock.advance(25 * HOUR);
      assert.equal(await activity.sweep(), 1);
      assert.deepEqual(
        (await activity.search({ account: ACCOUNT })).items.map(({ subject }) => subject),
        ["Message 2"],
      );
    });

    test("writes many messages in few statements without blocking", async (t) => {
      const { activity, db, forwarded } = await openActivity(t, engine, { limits: { flushMs: 10_000 } });
      for (let n = 1; n <= 300; n++) forwarded(n, { minutes: 1 });
      const { items } = await activity.search({ account: ACCOUNT, limit: 1000 });
      assert.equal(items.length, 300);
      assert.ok(items.every(({ status, events }) => status === "delivered" && events.length === 5));
      const versions = await db
        .tables<EntryTables>()
        .selectFrom("email_log")
        .select(({ fn }) => fn.max("version").as("most"))
        .executeTakeFirstOrThrow();
      assert.ok(versions.most <= 2, "a message is written once, or twice if its steps are in two groups");
    });
  });
}

/** Inserts entries of ZONE without steps, one millisecond apart, ending one second before START. */
async function fill(db: Db, count: number) {
  for (let from = 0; from < count; from += 500) {
    const rows = Array.from({ length: Math.min(500, count - from) }, (_, i): EntryTables["email_log"] => {
      const n = from + i;
      return {
        id: (n + 1).toString(16).padStart(32, "0"),
        kind: "routing",
        message: `f${n}`,
        account_id: ACCOUNT,
        zone_id: ZONE,
        at: START - 1000 - count + n,
        changed_at: START,
        mail_from: "a@b.example",
        from_key: "a@b.example",
        rcpt: `fill${n}@here.example`,
        rcpt_key: `fill${n}@here.example`,
        domain: "b.example",
        subject: null,
        header_id: null,
        status: "dropped",
        action: "drop",
        origin: "incoming",
        rule: null,
        script: null,
        spf: null,
        dkim: null,
        dmarc: null,
        arc: null,
        error_cause: null,
        error: null,
        is_ndr: 0,
        is_spam: 0,
        spam_score: null,
        spam_threshold: null,
        size: null,
        ip: null,
        version: 1,
        details: '{"deliveries":[],"events":[],"answer":null}',
      };
    });
    await db.tables<EntryTables>().insertInto("email_log").values(rows).execute();
  }
}
