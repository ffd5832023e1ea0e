import assert from "node:assert/strict";
import { test } from "node:test";
import { sql } from "kysely";
import { onEveryDatabase, type Scope, type TestEngine } from "../../../test/support/databases.ts";
import { choosePeriod, deleteOldSums, readSums } from "./period-sums.ts";
import type { Migration } from "./port.ts";
import { roundedTime, type RowFilter } from "./row-filter.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const PERIODS = [
  { ms: HOUR, keptMs: 2 * DAY },
  { ms: DAY, keptMs: 30 * DAY },
];
const START = Date.UTC(2026, 10, 20);

const migrations: Migration[] = [
  {
    name: "sums-001",
    async up(db, types) {
      await db.schema
        .createTable("sums")
        .addColumn("account_id", sql.raw(types.keyText))
        .addColumn("period", "bigint")
        .addColumn("start_at", "bigint")
        .addColumn("color", sql.raw(types.keyText))
        .addColumn("n", "bigint")
        .addColumn("most", "bigint")
        .execute();
    },
  },
];

type Column = "color" | "day";

/** Ten hours with two colours each; one hour has many rows. */
async function open(scope: Scope, engine: TestEngine) {
  const { db } = await engine.open(scope, migrations);
  const tables = db.tables<{ sums: Record<string, string | number> }>();
  const row = (hour: number, color: string, n: number, account = "a") => ({
    account_id: account,
    period: HOUR,
    start_at: START + hour * HOUR,
    color,
    n,
    most: n,
  });
  const rows = Array.from({ length: 10 }, (_, hour) => [row(hour, "red", hour), row(hour, "blue", 1)]).flat();
  rows.push(...Array.from({ length: 7 }, () => row(4, "green", 10)), row(3, "red", 1000, "b"));
  await db.write(tables.insertInto("sums").values(rows) as never);
  const read = (
    more: {
      filter?: RowFilter<Column>;
      indexed?: Column[];
      groupBy?: Column[];
      since?: number;
      until?: number;
      window?: number;
      limits?: { rows: number; groups: number };
    } = {},
  ) =>
    readSums<Column>(db, {
      table: "sums",
      account: "a",
      period: PERIODS[0]!,
      since: START,
      until: START + DAY,
      filter: { all: [] },
      expression: (column) => (column === "day" ? roundedTime("start_at", DAY) : sql`${sql.ref(column)}`),
      groupBy: ["color"],
      sums: ["n"],
      maxima: ["most"],
      limits: { rows: 1000, groups: 100 },
      tooMany: (limit) => new Error(`more than ${limit}`),
      ...more,
    }).then((groups) => groups.map(({ values, sums }) => [...values, sums["n"], sums["most"]].join(" ")).sort());
  return { db, read };
}

onEveryDatabase((engine) => {
  test("sums the rows of each group, in windows of any size", async (t) => {
    const { read } = await open(t, engine);
    for (const window of [1, 2, 3, 5, 8, 1000])
      assert.deepEqual(await read({ window }), ["blue 10 1", "green 70 10", "red 45 9"], `${window}`);
    assert.deepEqual(await read({ groupBy: [], window: 4 }), ["125 10"]);
    assert.deepEqual(await read({ groupBy: ["day"] }), [`${START} 125 10`]);
    assert.deepEqual(await read({ since: START + 2.5 * HOUR, until: START + 4 * HOUR, window: 1 }), [
      "blue 2 1",
      "red 5 3",
    ]);
    assert.deepEqual(await read({ filter: { all: [{ column: "color", operator: "=", value: "red" }] }, window: 2 }), [
      "red 45 9",
    ]);
    assert.deepEqual(await read({ since: START + DAY, until: START + 2 * DAY, groupBy: [] }), []);
  });

  test("rejects a query that covers too many rows or returns too many groups", async (t) => {
    const { read } = await open(t, engine);
    await assert.rejects(read({ window: 2, limits: { rows: 6, groups: 100 } }), /more than 6/);
    await assert.rejects(read({ limits: { rows: 1000, groups: 2 } }), /more than 2/);
  });

  test("a condition on an indexed column limits the rows that are counted", async (t) => {
    const { read } = await open(t, engine);
    const limits = { rows: 12, groups: 100 };
    for (const [operator, value, expected] of [
      ["=", "blue", ["blue 10 1"]],
      ["in", ["blue", "white"], ["blue 10 1"]],
    ] as const)
      assert.deepEqual(
        await read({
          filter: { all: [{ column: "color", operator, value: value as string | string[] }] },
          indexed: ["color"],
          window: 4,
          limits,
        }),
        expected,
      );
  });

  test("deletes the sums of each period after its own time", async (t) => {
    const { db, read } = await open(t, engine);
    await deleteOldSums(db, "sums", PERIODS, START + 2 * DAY + 6 * HOUR);
    assert.deepEqual(await read(), ["blue 5 1", "red 35 9"]);
    await deleteOldSums(db, "sums", PERIODS, START + 40 * DAY);
    assert.deepEqual(await read(), []);
  });
});

test("reads the longest period that fits the range and the requested times", () => {
  const now = START + 40 * DAY;
  const of = (since: number, until: number, step?: number) =>
    choosePeriod(PERIODS, { since, until, step, now }).ms === DAY ? "day" : "hour";
  const yesterday = now - DAY;
  assert.equal(of(yesterday, now), "day");
  assert.equal(of(yesterday, now, DAY), "day");
  assert.equal(of(yesterday, now, HOUR), "hour");
  assert.equal(of(yesterday + HOUR, now), "hour");
  assert.equal(of(yesterday, now + 1), "day", "a range that ends in the future includes the whole day");
  assert.equal(of(yesterday, now - HOUR), "hour");
  assert.equal(of(yesterday + 1, now), "hour", "no period fits");
  assert.equal(of(now - 10 * DAY + 1, now, 1), "day", "sums per hour have been deleted");
  assert.equal(of(now - 50 * DAY + 1, now, 1), "day");
});
