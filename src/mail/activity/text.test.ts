import assert from "node:assert/strict";
import { test } from "node:test";
import { cleanDetail, cleanText } from "./text.ts";

test("removes terminal control characters, line breaks and bidirectional controls", () => {
  const hostile = "a\u001b[2Jb\u009b31mc\u0000d\r\ne\u007ff\u2028g\u202eh\u2066i\ud800j";
  // oxlint-disable-next-line no-control-regex
  assert.doesNotMatch(cleanText(hostile, 100), /[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|[\ud800-\udfff]/);
  assert.equal(cleanText("grün 日本 \u{1f600} é\u0301", 100), "grün 日本 \u{1f600} é\u0301");
  assert.equal(cleanText("x".repeat(20), 10), `${"x".repeat(9)}…`);
  assert.equal(
    cleanText(`${"x".repeat(8)}\u{1f600}x`, 10),
    `${"x".repeat(8)}\ufffd…`,
    "truncated in the middle of a surrogate pair",
  );
  assert.deepEqual(cleanDetail("rejected", { text: "no\u009b0m", list: ["\u202ea"], deep: { a: { b: 1 } } }), {
    text: "no 0m",
    list: [" a"],
    deep: { a: { b: 1 } },
  });
});
