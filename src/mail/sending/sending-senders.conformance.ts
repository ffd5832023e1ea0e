import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { UserError } from "../../kernel/index.ts";
import { ACCOUNT, messageOf, OTHER_ACCOUNT, openSendingDomain, RECIPIENT } from "./sending.testing.ts";

/** Tests which senders an account may use. */
export function sendingSendersConformance(engine: TestEngine): void {
  describe("sending", () => {
    test("requires the sender to be in a sending domain of the account whose DNS records are in place", async (t) => {
      const { draft, raw, domains, zones, zone, domain, newZone, transport, clock } = await openSendingDomain(
        t,
        engine,
      );
      const refused = (code: string, message: RegExp) => (err: unknown) =>
        err instanceof UserError && err.code === code && message.test(err.message);
      const unavailable = refused(
        "E_SENDER_DOMAIN_NOT_AVAILABLE",
        /^email from \S+ not allowed: Email Sending is not enabled for that domain$/,
      );
      await assert.rejects(draft({ from: "app@sub.example.com" }), unavailable);
      await assert.rejects(draft({ from: "app@nowhere.example" }), unavailable);
      await assert.rejects(draft({}, { account: OTHER_ACCOUNT }), unavailable);
      await domains.create(await newZone("other.example", OTHER_ACCOUNT), "other.example");
      await assert.rejects(raw(messageOf({ From: "boss@other.example" })), unavailable);
      await assert.rejects(raw(messageOf(), { from: "boss@other.example" }), unavailable);
      await raw(messageOf({ From: "Boss <boss@example.com>" }), { from: "app@example.com" });

      await zones.records.managed.remove(zone, "email-sending");
      clock.advance(60_000);
      await assert.rejects(
        draft(),
        refused("E_SENDER_DOMAIN_NOT_AVAILABLE", /the MX record of rp-bounce\.example\.com is missing$/),
      );
      await domains.fix(zone, domain.id);
      await draft();
      assert.equal(transport.sent.length, 2);
    });

    test("requires Sender and Resent-From of a raw message to be in the account's domains, like From", async (t) => {
      const { raw, transport, queue, domains, zone, newZone } = await openSendingDomain(t, engine);
      await domains.create(zone, "news.example.com");
      const others = await newZone("example.org", OTHER_ACCOUNT);
      await domains.create(others, "example.org");
      for (const via of ["rest_raw", "binding", "smtp"] as const) {
        for (const [field, value] of [
          ["Sender", "boss@example.org"],
          ["Resent-From", "A <a@example.com>, B <b@elsewhere.example>"],
          ["Resent-Sender", "x@elsewhere.example"],
          ["sender", "x@sub.example.com"],
        ] as const) {
          await assert.rejects(
            raw(messageOf({ [field]: value }), { via }),
            {
              code: "E_SENDER_DOMAIN_NOT_AVAILABLE",
              message:
                /^email from \S+ not allowed: Email Sending is not enabled for that domain \(field (?:Sender|Resent-From|Resent-Sender)\)$/,
            },
            `${via} ${field}`,
          );
        }
        for (const value of ["nobody", "a@", ""])
          await assert.rejects(raw(messageOf({ Sender: value }), { via }), { kind: "senderFieldInvalid" }, value);
      }
      await assert.rejects(
        raw(messageOf({ Sender: "app@example.com\r\nSender: boss@example.org" })),
        { code: "E_SENDER_DOMAIN_NOT_AVAILABLE" },
        "every Sender field is checked",
      );
      const many = Array.from({ length: 30 }, (_, at) => `x@d${at}.example`).join(", ");
      await assert.rejects(raw(messageOf({ "Resent-From": many })), { kind: "tooManySenders" });
      assert.deepEqual([transport.sent.length, queue.sent.length], [0, 0]);
      await raw(
        messageOf({
          Sender: "Robot <robot@news.example.com>",
          "Resent-From": "app@EXAMPLE.com",
          "Resent-Sender": "app@example.com",
        }),
      );
      assert.match(transport.sent[0]!.raw, /\r\nSender: Robot <robot@news\.example\.com>\r\n/);
    });

    test("reports a sending domain that was disabled", async (t) => {
      const { draft, domains, zone, domain, routed, trace } = await openSendingDomain(t, engine);
      routed.add("example.com");
      await domains.delete(zone, domain.id);
      for (let n = 0; n < 100; n++)
        await assert.rejects(draft(), {
          kind: "sendingDisabled",
          message: "Email Sending is disabled for example.com",
        });
      assert.deepEqual(
        trace.events.map(({ step, detail }) => `${step} ${detail["from"]} ${detail["text"]}`),
        Array.from({ length: 60 }, () => "rejected app@example.com Email Sending is disabled for example.com"),
        "the log is not flooded",
      );
      await domains.create(zone, "example.com");
      await draft();
    });

    test("allows an address in any routed domain as the sender of mail to verified addresses", async (t) => {
      const { draft, transport, routed, verified, dkimKeys, zone } = await openSendingDomain(t, engine);
      routed.add("in.example.com");
      const name = { zone: zone.id, domain: "in.example.com", use: "routing" as const };
      await dkimKeys.ensure({ ...name, account: ACCOUNT, selector: "reelpost" });
      await assert.rejects(draft({ from: "app@in.example.com" }), { code: "E_SENDER_DOMAIN_NOT_AVAILABLE" });
      verified.add(RECIPIENT);
      assert.deepEqual((await draft({ from: "app@in.example.com" })).delivered, [RECIPIENT]);
      assert.match(transport.sent[0]!.raw, /s=reelpost;/);
      await assert.rejects(draft({ from: "app@in.example.com", cc: "else@there.example" }), {
        code: "E_SENDER_DOMAIN_NOT_AVAILABLE",
      });
      await assert.rejects(draft({ from: "app@in.example.com" }, { account: OTHER_ACCOUNT }), {
        code: "E_SENDER_DOMAIN_NOT_AVAILABLE",
      });
    });

    test("is no longer possible from the domain of a deleted zone, which can be added again", async (t) => {
      const { draft, domains, zones, zone, newZone, clock } = await openSendingDomain(t, engine);
      // The event of the deletion is missed.
      domains.close();
      await zones.delete(zone.id);
      clock.advance(60_000);
      await assert.rejects(draft(), { code: "E_SENDER_DOMAIN_NOT_AVAILABLE" });
      await domains.create(await newZone("example.com", OTHER_ACCOUNT), "example.com");
      await assert.rejects(draft(), { code: "E_SENDER_DOMAIN_NOT_AVAILABLE" });
      await draft({}, { account: OTHER_ACCOUNT });
    });
  });
}
