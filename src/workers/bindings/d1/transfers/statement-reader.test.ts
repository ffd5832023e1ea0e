import assert from "node:assert/strict";
import { test } from "node:test";
import { array, assert as check, constantFrom, integer, property } from "fast-check";
import { splitStatements } from "../sql-tokens.ts";
import { createStatementReader, StatementTooLong } from "./statement-reader.ts";

function readIn(pieces: string[], longest = 1_000_000) {
  const reader = createStatementReader(longest);
  return [...pieces.flatMap((piece) => [...reader.read(piece)]), ...reader.end()];
}

test("the statements do not depend on the chunking of the text", () => {
  const word = constantFrom(
    "select",
    " ",
    ";",
    "'",
    "''",
    '"',
    "`",
    "[",
    "]",
    "--",
    "-",
    "/*",
    "*",
    "/",
    "*/",
    "\n",
    "1",
    ".",
    "?",
    "x",
    "end",
    "begin",
    "create ",
    "trigger ",
    "é",
    "\u{1f600}",
  );
  check(
    property(array(word, { maxLength: 40 }), array(integer({ min: 1, max: 4 }), { maxLength: 40 }), (words, sizes) => {
      const sql = words.join("");
      const pieces: string[] = [];
      let at = 0;
      for (const size of sizes) pieces.push(sql.slice(at, (at += size)));
      pieces.push(sql.slice(at));
      const whole = splitStatements(sql).map((statement) => statement.sql);
      assert.deepEqual(
        readIn(pieces).map((statement) => statement.sql),
        whole,
      );
      assert.deepEqual(
        readIn([...sql]).map((statement) => statement.sql),
        whole,
      );
    }),
    { numRuns: 2_000 },
  );
});

test("line numbers refer to the whole text", () => {
  const sql = "-- one\n/* two\nthree */\nselect 4;\n\n  select\n6\n;;select 8";
  for (const pieces of [[sql], [...sql]])
    assert.deepEqual(
      readIn(pieces).map(({ line }) => line),
      [4, 6, 8],
    );
});

test("comments between statements use no memory, however long they are, and the length of a statement is limited", () => {
  const reader = createStatementReader(10_000);
  const piece = "x".repeat(8_000);
  assert.deepEqual([...reader.read("/* ")], []);
  for (let i = 0; i < 50; i++) assert.deepEqual([...reader.read(piece)], []);
  assert.deepEqual(
    [...reader.read("**/ select 1; -- ")].map(({ sql }) => sql),
    ["select 1"],
  );
  for (let i = 0; i < 50; i++) assert.deepEqual([...reader.read(piece)], []);
  assert.deepEqual([...reader.read("\n select '")], []);
  assert.deepEqual([...reader.read(piece)], []);
  assert.throws(
    () => [...reader.read(piece)],
    (error) => error instanceof StatementTooLong && error.line === 2,
  );
});
