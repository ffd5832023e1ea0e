import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { describe, test } from "node:test";
import { array, assert as check, constantFrom, property, string } from "fast-check";
import { splitStatements, sqlTokens } from "./sql-tokens.ts";

const split = (sql: string) => splitStatements(sql).map((statement) => statement.sql);

describe("splitting SQL", () => {
  const cases: [what: string, sql: string, statements: string[]][] = [
    ["splits at semicolons", "select 1; select 2", ["select 1", "select 2"]],
    ["omits statements that consist only of comments and white space", " -- a\n;; /* b */ ;\n", []],
    ["keeps comments within a statement", "select /* ; */ 1 -- ; \n + 2;", ["select /* ; */ 1 -- ; \n + 2"]],
    [
      "recognizes all kinds of quotes",
      `select ';', ";", \`;\`, [;], 'it''s;'; select 2`,
      [`select ';', ";", \`;\`, [;], 'it''s;'`, "select 2"],
    ],
    [
      "keeps the body of a trigger together",
      "create trigger x after insert on t begin select 1; select case when 1 then 2 end; end; select 3",
      ["create trigger x after insert on t begin select 1; select case when 1 then 2 end; end", "select 3"],
    ],
    [
      "recognizes temporary and explained triggers",
      "explain query plan create temp trigger x after insert on t begin select 1; end; select 3",
      ["explain query plan create temp trigger x after insert on t begin select 1; end", "select 3"],
    ],
    [
      "does not mistake a table for a trigger",
      "create table trigger_log(a); select 1",
      ["create table trigger_log(a)", "select 1"],
    ],
    ["passes an unterminated string to SQLite", "select 'a; select 2", ["select 'a; select 2"]],
    ["omits an unterminated comment", "select 1; /* select 2;", ["select 1"]],
  ];
  for (const [what, sql, statements] of cases) test(what, () => assert.deepEqual(split(sql), statements));

  test("splits any text into statements in order, without semicolons outside quotes", () => {
    const piece = constantFrom(
      "select",
      " ",
      ";",
      "'",
      '"',
      "`",
      "[",
      "]",
      "--",
      "/*",
      "*/",
      "\n",
      "1",
      "?",
      "x",
      "end",
      "begin",
      "create",
      "trigger",
      "é",
      "\u{1f600}",
    );
    check(
      property(array(piece, { maxLength: 30 }), (pieces) => {
        const sql = pieces.join("");
        let from = 0;
        for (const statement of split(sql)) {
          const at = sql.indexOf(statement, from);
          assert.ok(at >= 0);
          from = at + statement.length;
          if (!/^\s*(explain|create)/i.test(statement))
            assert.ok(![...sqlTokens(statement)].some(({ text }) => text === ";"));
        }
      }),
    );
    check(property(string({ unit: "binary" }), (sql) => void split(sql)));
  });
});

describe("counting parameters", () => {
  const count = (sql: string) => splitStatements(sql)[0]!.parameters;

  test("named, numbered and anonymous parameters share one numbering", () => {
    assert.deepEqual(count("select ?, ?"), [null, null]);
    assert.deepEqual(count("select ?3, ?1"), [null, null, null]);
    assert.deepEqual(count("select ?2, ?"), [null, null, null]);
    assert.deepEqual(count("select :a, ?, :a, @b, $c"), [":a", null, "@b", "$c"]);
    assert.deepEqual(count("select '?', \"?\", x /* ? */ -- ?\n"), []);
  });

  test("agrees with SQLite", () => {
    const sqlite = new DatabaseSync(":memory:");
    check(
      property(
        array(constantFrom("?", "?1", "?2", "?7", "'?'", "1", "/* ? */ 2"), { minLength: 1, maxLength: 8 }),
        (columns) => {
          const sql = `select ${columns.join(", ")}`;
          const parameters = count(sql).length;
          const values = Array.from({ length: parameters }, () => 1);
          sqlite.prepare(sql).all(...values);
          assert.throws(() => sqlite.prepare(sql).all(...values, 1), /column index out of range/);
        },
      ),
    );
    sqlite.close();
  });
});
