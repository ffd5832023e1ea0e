import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { cpuMs } from "../../../test/support/cpu-time.ts";
import { parseMessageId, parseMessageIds } from "./message-id.ts";

test("reads identifiers in order and skips phrases between them", () => {
  assert.deepEqual(parseMessageIds("<a@b> your mail of Monday <c@d>\t<e@f>"), ["<a@b>", "<c@d>", "<e@f>"]);
  assert.deepEqual(parseMessageIds("<a@b><c@d>"), ["<a@b>", "<c@d>"]);
  assert.deepEqual(parseMessageIds("< a@b >"), ["<a@b>"]);
});

test("ignores values that are not identifiers", () => {
  for (const value of ["", "a@b", "<>", "< >", "<a@b", "a@b>", "<a\0@b>"])
    assert.deepEqual(parseMessageIds(value), [], JSON.stringify(value));
  assert.deepEqual(parseMessageIds("<<a@b>"), ["<a@b>"]);
});

test("accepts a Message-ID without brackets, but not an empty one", () => {
  assert.equal(parseMessageId(" <a@b> "), "<a@b>");
  assert.equal(parseMessageId("a@b"), "<a@b>");
  for (const value of ["", "   ", "two words", "<>"])
    assert.equal(parseMessageId(value), undefined, JSON.stringify(value));
});

test("reads back identifiers without inner brackets, and reads any text without throwing", () => {
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^[!-;=?-~]{1,20}$/), { maxLength: 10 }), (ids) => {
      assert.deepEqual(
        parseMessageIds(ids.map((id) => `<${id}>`).join(" ")),
        ids.map((id) => `<${id}>`),
      );
    }),
  );
  fc.assert(
    fc.property(fc.stringMatching(/^[<>a @\0]{0,60}$/), (text) => void [parseMessageIds(text), parseMessageId(text)]),
  );
});

test("parses hostile values of a megabyte in linear time", () => {
  for (const piece of ["<", ">", "<>", "< ", "a"]) {
    const value = piece.repeat(Math.floor((1024 * 1024) / piece.length));
    const ms = cpuMs(() => {
      parseMessageIds(value);
      parseMessageId(value);
    });
    assert.ok(ms < 2000, JSON.stringify(piece));
  }
});
