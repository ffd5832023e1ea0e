import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { replyOutcome, parseReply, reply, type TransactionStep } from "./replies.ts";

for (const [raw, code, enhanced, text] of [
  ["250 2.1.5 Ok", 250, "2.1.5", "Ok"],
  ["550-5.7.1 not\r\n550-5.7.1 today,\r\n550 5.7.1 you", 550, "5.7.1", "not today, you"],
  ["550-not\n550 today", 550, "5.0.0", "not today"],
  ["451 try later", 451, "4.0.0", "try later"],
  ["550 4.2.2 of two minds", 550, "4.2.2", "of two minds"],
  ["250", 250, "2.0.0", ""],
  ["550 5.1.1", 550, "5.1.1", ""],
  ["550 5.1.12345 no code", 550, "5.0.0", "5.1.12345 no code"],
  ["421\t", undefined, "", ""],
  ["hello", undefined, "", ""],
  ["", undefined, "", ""],
  ["999 what", undefined, "", ""],
] as const) {
  test(`parses ${JSON.stringify(raw)}`, () =>
    assert.deepEqual(parseReply(raw), code === undefined ? undefined : { code, enhanced, text }));
}

for (const [said, command, outcome] of [
  ["250 ok", "message", "delivered"],
  ["450 4.2.1 later", "RCPT", "temporary"],
  ["550 5.1.1 no", "RCPT", "permanent"],
  ["503 5.5.1 out of turn", "RCPT", "temporary"],
  ["552 too many recipients", "RCPT", "temporary"],
  ["552 5.2.2 full", "RCPT", "permanent"],
  ["552 5.3.4 too big", "message", "permanent"],
  ["354 5.0.0 no end", "message", "temporary"],
] as const) {
  test(`classifies ${said} to ${command} as ${outcome}`, () =>
    assert.equal(replyOutcome(parseReply(said)!, command as TransactionStep), outcome));
}

test("reduces any reply to a single line of limited length without control characters", () => {
  fc.assert(
    fc.property(fc.integer({ min: 200, max: 599 }), fc.string({ unit: "binary", maxLength: 3000 }), (code, words) => {
      for (const kept of [parseReply(`${code} ${words}`), reply(code, "4.0.0", words)]) {
        assert.ok(kept !== undefined && kept.text.length <= 1000);
        assert.doesNotMatch(kept.text, /[\p{Cc}\p{Cs}]/u);
      }
    }),
  );
});
