import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { UserError } from "../../kernel/index.ts";
import { ACCOUNT, messageOf, OTHER_ACCOUNT, openSendingDomain, RECIPIENT } from "./sending.testing.ts";

/** Tests the limits on sizes, recipients and rates. */
export function sendingLimitsConformance(engine: TestEngine): void {
  describe("sending", () => {
    test("limits sizes and recipients", async (t) => {
      const { draft, raw, verified } = await openSendingDomain(t, engine, {
        limits: { messageBytes: 20_000, verifiedMessageBytes: 50_000, recipients: 3 },
      });
      const tooLarge = {
        code: "E_CONTENT_TOO_LARGE",
        message: "Email message size is bigger than the production size limit of 0.02MiB.",
      };
      const [large, huge] = ["x".repeat(30_000), "x".repeat(60_000)];
      await assert.rejects(draft({ text: large }), tooLarge);
      await assert.rejects(raw(messageOf({}, large)), tooLarge);
      verified.add(RECIPIENT);
      await draft({ text: large });
      await raw(messageOf({}, large));
      await assert.rejects(draft({ text: large, cc: "else@there.example" }), tooLarge);
      await assert.rejects(draft({ text: huge }), { code: "E_CONTENT_TOO_LARGE" });
      await assert.rejects(raw(messageOf({}, huge)), { code: "E_CONTENT_TOO_LARGE" });
      const to = ["a@x.example", "b@x.example", "c@x.example", "d@x.example"];
      await assert.rejects(draft({ to }), { code: "E_TOO_MANY_RECIPIENTS" });
      const names = Array.from({ length: 1001 }, (_, i) => `user${i}@x.example`);
      const unread = {
        code: "E_TOO_MANY_RECIPIENTS",
        message: /^1001 recipients in to, cc and bcc together, maximum is 1000$/,
      };
      await assert.rejects(async () => draft({ to: names }), unread, "the recipients are not read one by one");
      await assert.rejects(raw(messageOf(), { to: names }), unread);
      await assert.rejects(raw(messageOf(), { to: [] }), { code: "E_FIELD_MISSING" });
      assert.equal((await raw(messageOf(), { to: [...to.slice(0, 3), "A@x.example"] })).delivered.length, 3);
    });

    test("limits messages per minute, and messages to unverified addresses per day", async (t) => {
      const { draft, sending, verified, clock } = await openSendingDomain(t, engine, {
        limits: { perMinute: 3, perDay: 4 },
      });
      assert.deepEqual(await sending.limits(ACCOUNT), {
        quota: { unit: "day", value: 4 },
        usage: { sent: 0, overQuota: false, resetsAt: Date.UTC(2026, 10, 21) },
      });
      for (let i = 0; i < 3; i++) await draft();
      await assert.rejects(
        draft(),
        (err: UserError) => err.code === "E_RATE_LIMIT_EXCEEDED" && err.details.retryAfter === 60,
      );
      clock.advance(60_000);
      await draft();
      await assert.rejects(
        draft(),
        (err: UserError) => err.code === "E_DAILY_LIMIT_EXCEEDED" && err.details.retryAfter === 12 * 3600 - 60,
      );
      assert.deepEqual((await sending.limits(ACCOUNT)).usage, {
        sent: 4,
        overQuota: true,
        resetsAt: Date.UTC(2026, 10, 21),
      });
      verified.add(RECIPIENT);
      await draft();
      assert.deepEqual((await sending.limits(OTHER_ACCOUNT)).usage!.sent, 0);
      clock.advance(12 * 3_600_000);
      verified.clear();
      await draft();
      await sending.sweep();
      assert.equal((await sending.limits(ACCOUNT)).usage!.sent, 1);
    });
  });
}
