import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { createManualClock, type Clock, type UserError } from "../../../kernel/index.ts";
import { createAnalytics, type Analytics } from "./analytics.ts";
import type { AnalyticsLimits } from "./limits.ts";
import { analyticsMigrations } from "./points-table.ts";

const START = Date.parse("2026-11-20T12:00:00Z");
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** Tests Analytics Engine datasets on every database engine. */
export function analyticsConformance(engine: TestEngine): void {
  describe("Analytics Engine", () => {
    let open: (limits?: Partial<AnalyticsLimits>) => Analytics;
    let analytics: Analytics;
    let clock: Clock & { advance(ms: number): void };
    let account = "";
    let accounts = 0;
    const ends: (() => Promise<void>)[] = [];

    before(async () => {
      const { db } = await engine.open({ after: (end) => ends.push(end) }, analyticsMigrations);
      open = (limits = {}) => createAnalytics({ db, clock, limits });
    });
    after(async () => {
      for (const end of ends.reverse()) await end();
    });

    const it = (what: string, run: () => Promise<void>) =>
      test(what, () => {
        account = (++accounts).toString(16).padStart(32, "0");
        clock = createManualClock(START);
        analytics = open();
        return run();
      });
    const write = (index: string, blobs: string[] = [], doubles: number[] = [], dataset = "events") =>
      analytics.write(account, dataset, { index, blobs, doubles });
    const data = async (sql: string, of = analytics) =>
      (JSON.parse((await of.query(account, sql)).text) as { data: Record<string, unknown>[] }).data;
    const refused = (kind: string) => (error: UserError) => (assert.equal(error.kind, kind, String(error)), true);

    it("a point has all columns, and missing values are empty or 0", async () => {
      await write("é", ["a", 'quote " and \\ and 漢字', "\0"], [1.5, -2]);
      const [row] = await data("SELECT * FROM events");
      assert.equal(Object.keys(row!).length, 44);
      assert.deepEqual(
        [row!["dataset"], row!["timestamp"], row!["_sample_interval"], row!["index1"]],
        ["events", "2026-11-20 12:00:00", 1, "é"],
      );
      assert.deepEqual([row!["blob2"], row!["blob20"]], ['quote " and \\ and 漢字', ""]);
      assert.deepEqual([row!["double1"], row!["double2"], row!["double20"]], [1.5, -2, 0]);
    });

    it("points are separated by account and dataset, and SHOW TABLES lists datasets", async () => {
      await write("a");
      await write("b", [], [], "other");
      const stranger = "f".repeat(32);
      await analytics.write(stranger, "events", { index: "theirs", blobs: [], doubles: [] });
      assert.deepEqual(await data("SELECT index1 FROM events"), [{ index1: "a" }]);
      assert.deepEqual(await data("SHOW TABLES"), [{ dataset: "events" }, { dataset: "other" }]);
      await assert.rejects(data("SELECT 1 FROM missing"), refused("invalidQuery"));
    });

    it("aggregates by group across several pages", async () => {
      const writes: Promise<void>[] = [];
      for (let i = 0; i < 2500; i++) {
        if (i % 500 === 0) clock.advance(MINUTE);
        writes.push(write(i % 2 === 0 ? "even" : "odd", [`b${i % 5}`], [i]));
      }
      await Promise.all(writes);
      assert.deepEqual(
        await data(
          `SELECT index1 AS parity, count() AS n, sum(_sample_interval) AS weight, sum(double1) AS total, avg(double1) AS mean,
             min(double1) AS low, max(double1) AS high, count(DISTINCT blob1) AS kinds,
             quantileExactWeighted(0.5)(double1, _sample_interval) AS median
           FROM events GROUP BY parity ORDER BY parity DESC`,
        ),
        [
          {
            parity: "odd",
            n: 1250,
            weight: 1250,
            total: 1562500,
            mean: 1250,
            low: 1,
            high: 2499,
            kinds: 5,
            median: 1249,
          },
          {
            parity: "even",
            n: 1250,
            weight: 1250,
            total: 1561250,
            mean: 1249,
            low: 0,
            high: 2498,
            kinds: 5,
            median: 1248,
          },
        ],
      );
      assert.deepEqual(
        await data(
          `SELECT toStartOfInterval(timestamp, INTERVAL '2' MINUTE) AS t, count() FROM events GROUP BY t ORDER BY t LIMIT 2 OFFSET 1`,
        ),
        [
          { t: "2026-11-20 12:02:00", "count()": 1000 },
          { t: "2026-11-20 12:04:00", "count()": 1000 },
        ],
      );
      assert.deepEqual(await data("SELECT double1 FROM events ORDER BY double1 DESC LIMIT 2"), [
        { double1: 2499 },
        { double1: 2498 },
      ]);
      assert.deepEqual(await data("SELECT blob1, count() AS n FROM events GROUP BY blob1 HAVING n > 500"), []);
    });

    it("selects time ranges to the second", async () => {
      for (const index of ["a", "b", "c"]) {
        await write(index);
        clock.advance(DAY);
      }
      // Written three days, two days and one day ago.
      const found = async (where: string) =>
        (await data(`SELECT index1 FROM events WHERE ${where} ORDER BY timestamp`))
          .map(({ index1 }) => index1)
          .join("");
      for (const [where, indexes] of [
        ["timestamp > NOW() - INTERVAL '2' DAY", "c"],
        ["timestamp >= NOW() - INTERVAL '2' DAY", "bc"],
        ["NOW() - INTERVAL 2 DAY > timestamp", "a"],
        ["timestamp <= now() - INTERVAL '48' HOUR", "ab"],
        ["timestamp = toDateTime('2026-11-21 12:00:00')", "b"],
        ["timestamp = '2026-11-21 12:00:00'", "b"],
        ["timestamp BETWEEN '2026-11-21 00:00:00' AND '2026-11-22'", "b"],
        ["timestamp < '2026-11-21' OR timestamp > '2026-11-22'", "ac"],
        ["timestamp > NOW() - INTERVAL '1' MONTH AND index1 != 'b'", "ac"],
        ["NOT timestamp < '2026-11-22'", "c"],
      ] as const)
        assert.equal(await found(where), indexes, where);
    });

    it("expired points are neither returned nor kept", async () => {
      analytics = open({ retentionMs: 2 * DAY });
      await write("old");
      await write("x", [], [], "forgotten");
      clock.advance(DAY);
      await write("new");
      clock.advance(DAY + MINUTE);
      assert.deepEqual(await data("SELECT index1 FROM events"), [{ index1: "new" }]);
      await analytics.sweep();
      assert.deepEqual(await data("SELECT index1 FROM events", open()), [{ index1: "new" }]);
      assert.deepEqual(await data("SHOW TABLES"), [{ dataset: "events" }]);
    });

    it("limits datasets, rows, groups, stored values, time and concurrent queries", async () => {
      analytics = open({ datasets: 1, rows: 5, values: 5, queriesPerAccount: 1 });
      await Promise.all(Array.from({ length: 6 }, (_, i) => write(`i${i}`, [], [i])));
      await assert.rejects(write("x", [], [], "second"), refused("tooManyDatasets"));
      await assert.rejects(data("SELECT index1 FROM events"), refused("resultTooLarge"));
      assert.equal((await data("SELECT index1 FROM events ORDER BY index1 DESC LIMIT 2")).length, 2);
      await assert.rejects(data("SELECT count() FROM events GROUP BY index1"), refused("tooMuchMemory"));
      await assert.rejects(data("SELECT count(DISTINCT index1) FROM events"), refused("tooMuchMemory"));
      const [first, second] = await Promise.allSettled([data("SHOW TABLES"), data("SHOW TABLES")]);
      assert.equal(first.status, "fulfilled");
      assert.ok(second.status === "rejected" && refused("tooManyQueries")(second.reason as UserError));
      await assert.rejects(data("SELECT sum(double1) FROM events", open({ queryMs: 0 })), refused("tooSlow"));
    });

    it("limits the bytes of a result, and the memory of rows, groups and aggregates", async () => {
      await Promise.all(Array.from({ length: 60 }, (_, i) => write(`i${i}`, [`${i}`.repeat(2000)])));
      const limited = open({ resultBytes: 100_000, memoryBytes: 200_000 });
      const name = "n".repeat(5000);
      await assert.rejects(data(`SELECT index1 AS ${name} FROM events`, limited), (error: UserError) => {
        assert.equal(error.kind, "resultTooLarge");
        assert.match(error.message, /Try adding a LIMIT clause .* The limit is 0\.09\d* MiB\.$/);
        return true;
      });
      for (const sql of [
        "SELECT blob1 FROM events",
        "SELECT index1 FROM events ORDER BY blob1",
        "SELECT 1 FROM events GROUP BY blob1",
        "SELECT max(blob1) FROM events GROUP BY index1",
        "SELECT count(DISTINCT blob1) FROM events",
      ])
        await assert.rejects(data(sql, limited), refused("tooMuchMemory"), sql);
      assert.equal((await data("SELECT blob1 FROM events ORDER BY blob1 LIMIT 5", limited)).length, 5);
    });

    it("ends a query that takes too long for one point", async () => {
      await write("a", ["x".repeat(16_000)]);
      const like = Array.from({ length: 400 }, (_, i) => `blob1 LIKE '%${"x".repeat(100)}${i}'`);
      await assert.rejects(
        data(`SELECT count() FROM events WHERE ${like.join(" OR ")}`, open({ queryMs: 20 })),
        refused("tooSlow"),
      );
    });
  });
}
