import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { parseDevVars } from "./dev-vars.ts";

const values = (text: string) =>
  Object.fromEntries(parseDevVars(".dev.vars", text).vars.map(({ name, value }) => [name, value]));
const complaints = (text: string) =>
  parseDevVars(".dev.vars", text).problems.map(
    ({ severity, line, column, message }) => `${line}:${column} ${severity}: ${message}`,
  );

test("parses all syntax variants of a value", () => {
  const text = String.raw`# a comment
PLAIN=abc
 SPACED =  a b c   # comment
export EXPORTED=1
COLON: yes
EMPTY=
HASH=a#b
SINGLE='a # b \n'
DOUBLE="a # b\nc" # comment
BACKTICK=${'`it\'s "so"`'}
ESCAPED="say \"hi\""
URL=https://example.com/?a=b&c=d
dotted.name-x=1`;
  assert.deepEqual(complaints(text), []);
  assert.deepEqual(values(text), {
    PLAIN: "abc",
    SPACED: "a b c",
    EXPORTED: "1",
    COLON: "yes",
    EMPTY: "",
    HASH: "a",
    SINGLE: String.raw`a # b \n`,
    DOUBLE: "a # b\nc",
    BACKTICK: `it's "so"`,
    ESCAPED: String.raw`say \"hi\"`,
    URL: "https://example.com/?a=b&c=d",
    "dotted.name-x": "1",
  });
});

test("a quoted value may span lines, with any kind of line break", () => {
  for (const eol of ["\n", "\r\n", "\r"]) {
    assert.deepEqual(values(["KEY='-----BEGIN-----", "a=b", "", "-----END-----'", "NEXT=1"].join(eol)), {
      KEY: "-----BEGIN-----\na=b\n\n-----END-----",
      NEXT: "1",
    });
  }
});

test("errors contain the line number but not the value, and the other lines are read", () => {
  const text = "A=1\nhunter2\n2X=hunter2\nB='hunter2' hunter2\nA=2\n=hunter2\nC=3\nD=\"hunter2\nE=4";
  assert.deepEqual(complaints(text), [
    "2:1 error: this line is not NAME=value",
    '3:1 error: "2X" is not a valid name',
    "4:12 error: there is unexpected text after the closing ' of B",
    "5:1 warning: A is set twice (first on line 1); the last value is used",
    "6:1 error: this line is not NAME=value",
    '8:3 error: the value of D starts with " and is not closed',
  ]);
  assert.deepEqual(values(text), { A: "2", C: "3", E: "4" });
  assert.ok(!JSON.stringify(parseDevVars("f", text).problems).includes("hunter2"));
});

const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/);
const value = fc.string({
  unit: fc.oneof(
    fc.constantFrom("#", "=", " ", "\n", '"', "'", "`", "\\", "$"),
    fc.string({ minLength: 1, maxLength: 1, unit: "grapheme" }),
  ),
});

/** Returns the text in quotes, so that it is read back unchanged; undefined if no kind of quote permits that. */
function written(text: string): string | undefined {
  const quote = ["'", "`", '"'].find((mark) => !text.includes(mark));
  if (quote === undefined || text.includes("\r") || (quote === '"' && /\\[nr]/.test(text)) || text.endsWith("\\"))
    return undefined;
  return quote + text + quote;
}

test("reads back values that it has written", () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.tuple(name, value), { selector: ([key]) => key }), (pairs) => {
      const fit = pairs.filter(([, text]) => written(text) !== undefined);
      const text = fit.map(([key, inner]) => `${key}=${written(inner)}`).join("\n");
      assert.deepEqual(complaints(text), []);
      assert.deepEqual(values(text), Object.fromEntries(fit));
    }),
  );
});

test("reads any text without throwing, and reports only positions inside it", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom("A", "=", "'", '"', "`", "#", " ", "\n", "\\", ":", "1", "export ") }),
      (text) => {
        const lines = text.split("\n");
        const { vars, problems } = parseDevVars(".dev.vars", text);
        for (const { line, column } of problems)
          assert.ok(
            lines[line! - 1] !== undefined && column! >= 1 && column! <= lines[line! - 1]!.length + 1,
            `${line}:${column} in ${JSON.stringify(text)}`,
          );
        for (const { line } of vars) assert.ok(lines[line - 1] !== undefined);
      },
    ),
  );
});
