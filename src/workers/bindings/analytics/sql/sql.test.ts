import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { UserError } from "../../../../kernel/index.ts";
import type { StoredPoint } from "../points-table.ts";
import type { Select } from "./ast.ts";
import { createQueryBudget } from "./budget.ts";
import { formatResult } from "./format.ts";
import { parseSql } from "./parse.ts";
import { runSelect } from "./run.ts";

const NOW = Date.parse("2026-11-20T12:34:56.789Z");
const POINTS: StoredPoint[] = [
  { at: NOW - 2000, id: "1", index: "one", blobs: ["Anna", "x"], doubles: [1, 10] },
  { at: NOW - 1000, id: "2", index: "two", blobs: ["Bob", "y%"], doubles: [2.5, 0] },
];

async function run(sql: string) {
  const statement = parseSql(sql) as Select;
  const result = await runSelect(statement, {
    async *points() {
      yield POINTS;
    },
    now: NOW,
    limits: { rows: 100, values: 100, memoryBytes: 1e6 },
    budget: createQueryBudget({ queryMs: 10_000, memoryBytes: 1e6 }),
  });
  return { ...result, format: statement.format };
}

const rows = async (sql: string) => (await run(sql)).rows;
const types = async (sql: string) => (await run(sql)).columns.map(({ type }) => type).join();

describe("values", () => {
  for (const [expression, value, type] of [
    ["'it''s \\'quoted\\' \\n'", "it's 'quoted' \n", "String"],
    ["1 + 2 * 3 - -4", 11, "Int64"],
    ["(1 + 2) * 3", 9, "UInt64"],
    ["7 / 2", 3.5, "Float64"],
    ["7 % 4 + intDiv(7, 2)", 6, "UInt64"],
    ["1.5 * 1e2", 150, "Float64"],
    ["NOT 1 = 2 AND (0 OR true)", 1, "UInt8"],
    ["3 BETWEEN 1 AND 3 AND 'b' NOT IN ('a', 'c')", 1, "UInt8"],
    ["'abcabd' LIKE '%ab_' AND NOT 'a%c' LIKE 'a\\%'", 1, "UInt8"],
    ["'ABC' ILIKE 'a%'", 1, "UInt8"],
    ["if(1 > 2, 'yes', 'no')", "no", "String"],
    ["toUpper('é') || substring('hello', 2, 3)", "Éell", "String"],
    ["length('é') + position('abc', 'c')", 5, "UInt64"],
    ["round(2.567, 2)", 2.57, "Float64"],
    ["toUnixTimestamp(now())", Math.floor(NOW / 1000), "UInt32"],
    ["toStartOfInterval(now(), INTERVAL '15' MINUTE)", Date.parse("2026-11-20T12:30:00Z") / 1000, "DateTime"],
    ["toStartOfInterval(now(), INTERVAL 1 WEEK)", Date.parse("2026-11-16T00:00:00Z") / 1000, "DateTime"],
    ["toStartOfInterval(now(), INTERVAL 1 QUARTER)", Date.parse("2026-10-01T00:00:00Z") / 1000, "DateTime"],
    ["toDateTime('2026-03-31') - INTERVAL '1' MONTH", Date.parse("2026-02-28T00:00:00Z") / 1000, "DateTime"],
    ["toDayOfWeek(now()) * 100 + toHour(now())", 512, "UInt64"],
    ["toStartOfDay(now()) = today()", 1, "UInt8"],
  ] as const)
    test(expression, async () => {
      const result = await run(`SELECT ${expression} AS v`);
      assert.deepEqual([result.rows, result.columns], [[[value]], [{ name: "v", type }]]);
    });
});

describe("queries", () => {
  test("select columns, use aliases and contain comments", async () => {
    const sql = `select blob1 as name, /* twice */ double1*2 /* not once */, "index1" -- the key
      FROM \`events\` WHERE name = 'Anna';`;
    const { rows: found, columns } = await run(sql);
    assert.deepEqual(found, [["Anna", 2, "one"]]);
    assert.deepEqual(
      columns.map(({ name }) => name),
      ["name", "double1*2", `"index1"`],
    );
  });

  test("aggregates without GROUP BY return one row, even without points", async () => {
    assert.deepEqual(await rows("SELECT count(), sum(double1), max(blob1) FROM t WHERE double1 > 99"), [[0, 0, ""]]);
    assert.deepEqual(await rows("SELECT SUM(_sample_interval * double1) / SUM(_sample_interval) FROM t"), [[1.75]]);
    assert.deepEqual(await rows("SELECT countIf(double1 > 1), sumIf(double1, double1 > 1), avgIf(double1, 1) FROM t"), [
      [1, 2.5, 1.75],
    ]);
    assert.deepEqual(await rows("SELECT quantileWeighted(0.9, double1, _sample_interval) FROM t"), [[2.5]]);
  });

  test("in a grouped query, an alias takes precedence over a column of the same name", async () => {
    const sql = "SELECT max(timestamp) AS timestamp FROM t GROUP BY blob1 ORDER BY timestamp DESC LIMIT 1";
    assert.deepEqual(await rows(sql), [[Math.floor((NOW - 1000) / 1000)]]);
  });

  test("columns and aggregates have types", async () => {
    assert.equal(
      await types("SELECT timestamp, index1, blob20, double20, _sample_interval, dataset FROM t"),
      "DateTime,String,String,Float64,UInt32,String",
    );
    assert.equal(
      await types(
        "SELECT count(), sum(double1), sum(_sample_interval), avg(double1), min(timestamp), max(blob1) FROM t",
      ),
      "UInt64,Float64,UInt64,Float64,DateTime,String",
    );
  });
});

describe("formats", () => {
  test("are JSON, JSONEachRow and TabSeparated", async () => {
    const format = async (sql: string) => {
      const result = await run(sql);
      return formatResult(result, result.format, { maxBytes: 1e6, budget: { pause: () => undefined } });
    };
    const select = "SELECT timestamp AS t, blob1 AS b, double1 / double2 AS q FROM x ORDER BY q";
    assert.deepEqual(await format(select), {
      type: "application/json",
      text: '{"meta":[{"name":"t","type":"DateTime"},{"name":"b","type":"String"},{"name":"q","type":"Float64"}],"data":[{"t":"2026-11-20 12:34:54","b":"Anna","q":0.1},{"t":"2026-11-20 12:34:55","b":"Bob","q":null}],"rows":2}',
    });
    assert.deepEqual(await format(`${select} LIMIT 1 FORMAT JSONEachRow`), {
      type: "application/x-ndjson",
      text: '{"t":"2026-11-20 12:34:54","b":"Anna","q":0.1}\n',
    });
    assert.equal((await format(`SELECT 'a\\tb' AS x, 1 format TabSeparated`)).text, "a\\tb\t1\n");
  });
});

describe("errors name the cause", () => {
  for (const [sql, message] of [
    ["", "only SELECT and SHOW statements are supported"],
    ["DROP TABLE events", "only SELECT and SHOW statements are supported"],
    ["SELECT 1 FROM a JOIN b ON 1", "JOINs are not supported"],
    ["SELECT 1 FROM a, b", "JOINs are not supported"],
    ["SELECT 1 FROM (SELECT 2)", "subqueries are not supported"],
    ["SELECT 1 UNION SELECT 2", "UNION is not supported"],
    ["SELECT DISTINCT blob1 FROM a", "SELECT DISTINCT is not supported; use GROUP BY"],
    ["SELECT 1 FORMAT CSV", "unknown format CSV; the formats are JSON, JSONEachRow, TabSeparated"],
    ["SELECT nonexistent FROM a", "cannot select unknown column: nonexistent"],
    ["SELECT blob1", "cannot select unknown column: blob1"],
    ["SELECT blob21 FROM a", "cannot select unknown column: blob21"],
    ["SELECT 'a' + 1", "cannot combine the String and UInt64 types with the + operator"],
    ["SELECT 1 FROM a WHERE blob1 = 1", "cannot combine the String and UInt64 types with the = operator"],
    ["SELECT blob1, count() FROM a", "the column blob1 is neither in GROUP BY nor in an aggregate"],
    ["SELECT 1 FROM a WHERE count() > 1", "the aggregate count() is not allowed here"],
    ["SELECT sum(count()) FROM a", "the aggregate count() is not allowed here"],
    ["SELECT sleep(3)", "the function sleep() is not supported"],
    ["SELECT constructor(3)", "the function constructor() is not supported"],
    ["SELECT a AS b, b AS a", "the alias a refers to itself"],
    [
      `SELECT 1 AS a0, ${Array.from({ length: 40 }, (_, i) => `a${i} + a${i} AS a${i + 1}`).join(", ")}`,
      "the query has more than 20000 operations after its aliases have been expanded",
    ],
    [
      "SELECT 1 FROM a WHERE timestamp > 'soon'",
      "\"soon\" is not a date; write it as 'YYYY-MM-DD' or 'YYYY-MM-DD HH:MM:SS'",
    ],
    [
      "SELECT INTERVAL 'x' DAY",
      "syntax error at position 17: expected a whole number after INTERVAL, found \"'x' DAY\"",
    ],
    ["SELECT 1 +", "syntax error at position 11: expected an expression, found the end of the query"],
    ["SELECT 1; SELECT 2", 'syntax error at position 11: expected the end of the query, found "SELECT 2"'],
    [`SELECT '${"x".repeat(60_000)}' AS a, a || a`, "a string of the || operator is longer than 65536 characters"],
    [`SELECT '${"x".repeat(20_000)}' LIKE '%${"x".repeat(19_000)}y'`, "the pattern of LIKE is too long for the text"],
    ["SELECT @x", 'syntax error at position 8: "@x"'],
    [`SELECT ${"(".repeat(100)}1`, "expressions are nested more than 50 levels deep"],
    [`SELECT ${"NOT ".repeat(100)}1`, "expressions are nested more than 50 levels deep"],
    [`SELECT ${"- ".repeat(100)}1`, "expressions are nested more than 50 levels deep"],
    [`SELECT 1${",1".repeat(3000)}`, "the query has more than 5000 tokens"],
  ])
    test(sql!.slice(0, 60), async () => {
      await assert.rejects(run(sql!), (error: UserError) => {
        assert.equal(error.message, `Input was invalid: ${message}`);
        return true;
      });
    });
});
