import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { UserError } from "../../kernel/index.ts";
import { compilePattern } from "./patterns.ts";

const ZONE = "example.com";
const glob = (value: string) => compilePattern({ type: "glob", field: "to", value }, ZONE);
const regex = (value: string) => compilePattern({ type: "regex", field: "to", value }, ZONE);
const reasonOf = (compile: () => unknown) => {
  try {
    compile();
  } catch (err) {
    return err instanceof UserError ? `${err.kind}: ${err.message}` : String(err);
  }
  return "accepted";
};

test("a glob matches any characters of the local part with * and one with ?, case-insensitively", () => {
  const sales = glob("Sales-*@example.com");
  assert.deepEqual(
    [
      "sales-eu@example.com",
      "sales-@example.com",
      "sales-a@b@example.com",
      "sales@example.com",
      "sales-eu@example.org",
      "xsales-eu@example.com",
    ].map(sales),
    [true, true, false, false, false, false],
  );
  assert.deepEqual(
    ["team1@in.example.com", "team@in.example.com", "team12@in.example.com"].map(glob("team?@in.example.com")),
    [true, false, false],
  );
});

test("a glob matches all other characters literally", () => {
  const char = fc.constantFrom(..."abz09.+$^{}|!#%&'/=_`~-");
  fc.assert(
    fc.property(
      fc.array(char, { minLength: 1, maxLength: 8 }),
      fc.array(char, { minLength: 1, maxLength: 8 }),
      (a, b) => {
        const [one, other] = [a.join(""), b.join("")];
        assert.equal(glob(`${one}@example.com`)(`${other}@example.com`), one === other);
        assert.equal(glob(`${one}*@example.com`)(`${one}${other}@example.com`), true);
      },
    ),
  );
});

test("a regular expression matches the whole address", () => {
  const invoices = regex("(invoice|billing)-[0-9]{4}@example\\.com");
  assert.deepEqual(
    [
      "invoice-2026@example.com",
      "Billing-0001@example.com",
      "invoice-20261@example.com",
      "my-invoice-2026@example.com",
    ].map(invoices),
    [true, true, false, false],
  );
});

test("rejects patterns that are invalid, match everything, or match other domains", () => {
  assert.match(
    reasonOf(() => glob("*@example.com")),
    /use the catch-all rule/,
  );
  assert.match(
    reasonOf(() => glob("a@*.com")),
    /in the local part only/,
  );
  assert.match(
    reasonOf(() => glob("sales-*")),
    /in the local part only/,
  );
  assert.match(
    reasonOf(() => glob("sales-*@example.org")),
    /not in the zone example\.com/,
  );
  assert.match(
    reasonOf(() => regex("(")),
    /not a regular expression in RE2 syntax/,
  );
  assert.match(
    reasonOf(() => regex("(a)\\1@example\\.com")),
    /not a regular expression in RE2 syntax/,
  );
  assert.match(
    reasonOf(() => regex("[a-z]{900}@example\\.com")),
    /too complex/,
  );
});

test("matches in linear time where a backtracking matcher would hang", () => {
  const evil = regex("(a+)+(a|aa)*b@example\\.com");
  assert.equal(evil(`${"a".repeat(200)}@example.com`), false);
});
