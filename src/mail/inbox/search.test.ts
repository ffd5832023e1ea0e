import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { UserError } from "../../kernel/index.ts";
import { parseInboxSearch } from "./search.ts";

test("parses words, phrases and operators", () => {
  assert.deepEqual(parseInboxSearch('Hello "Two Words" from:Ada@Example.com -subject:"re: x" has:attachment'), [
    { field: "text", contains: "hello" },
    { field: "text", contains: "two words" },
    { field: "from", contains: "ada@example.com" },
    { field: "subject", contains: "re: x", not: true },
    { field: "attachment" },
  ]);
});

test("treats a word with an unknown name as text", () => {
  assert.deepEqual(parseInboxSearch("https://example.com/a"), [{ field: "text", contains: "https://example.com/a" }]);
});

test("parses dates as UTC, and times", () => {
  assert.deepEqual(parseInboxSearch("after:2026-05-31 before:2026-06-01T10:00:00+02:00"), [
    { field: "after", at: Date.UTC(2026, 4, 31) },
    { field: "before", at: Date.UTC(2026, 5, 1, 8) },
  ]);
});

test("negates is:unread to read messages", () => {
  assert.deepEqual(parseInboxSearch("is:unread -is:unread"), [{ field: "read", not: true }, { field: "read" }]);
});

test("rejects unknown values, missing values and long searches with the reason", () => {
  const reasons: [string, RegExp][] = [
    ["kind:lost", /kind:lost is not one of received, /],
    ["has:cheese", /not one of attachment/],
    ["before:tomorrow", /not a date/],
    ["from:", /from: needs a value/],
    ["x".repeat(1001), /longer than 1000/],
    ["a ".repeat(21), /more than 20 terms/],
  ];
  for (const [query, reason] of reasons) assert.throws(() => parseInboxSearch(query), reason);
});

test("parses any text as a search or throws a user error", () => {
  const part = fc.constantFrom("from:", "-", '"', " ", "is:read", "a", ":", "before:2026", "\n", "🙂", "-has:");
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(part).map((parts) => parts.join("")),
      ),
      (query) => {
        try {
          for (const term of parseInboxSearch(query)) assert.equal(typeof term.field, "string");
        } catch (err) {
          assert.ok(err instanceof UserError);
        }
      },
    ),
  );
});
