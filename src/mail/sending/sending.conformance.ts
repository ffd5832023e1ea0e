import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { ACCOUNT, messageOf, openSendingDomain, RECIPIENT } from "./sending.testing.ts";

const ID = /^<[A-Za-z0-9]{36}@example\.com>$/;

/** Tests how drafts and raw messages are sent. */
export function sendingConformance(engine: TestEngine): void {
  describe("sending", () => {
    test("builds a draft, signs it for its domain and hands it to the transport", async (t) => {
      const { draft, transport, queue, trace, zone } = await openSendingDomain(t, engine);
      const result = await draft(
        { to: ["user@there.example", { email: "Other@There.example", name: "Other" }], bcc: "hidden@else.example" },
        { script: "news" },
      );
      assert.match(result.messageId, ID);
      assert.deepEqual(result, {
        messageId: result.messageId,
        delivered: ["user@there.example", "Other@there.example", "hidden@else.example"],
        queued: [],
        permanentBounces: [],
        rejections: [],
        suppressed: [],
      });
      const [sent] = transport.sent;
      assert.deepEqual(
        [
          sent!.from,
          sent!.to,
          sent!.account,
          sent!.zone,
          sent!.senderAuthenticated,
          sent!.cause,
          sent!.script,
          sent!.inbound,
        ],
        ["app@example.com", result.delivered, ACCOUNT, zone.id, true, "send", "news", undefined],
      );
      assert.match(
        sent!.raw,
        /^DKIM-Signature: [^\r]*(?:\r\n[ \t][^\r]*)*\bd=example\.com;[^\r]*(?:\r\n[ \t][^\r]*)*s=rp-bounce;/,
      );
      assert.ok(sent!.raw.includes(`Message-ID: ${result.messageId}\r\n`) && !sent!.raw.includes("hidden@"));
      assert.equal(queue.sent.length, 0);
      const [event] = trace.events;
      assert.deepEqual(
        [event!.step, event!.message, event!.account, event!.zone, event!.detail],
        [
          "sent",
          result.messageId,
          ACCOUNT,
          zone.id,
          {
            via: "rest",
            from: "app@example.com",
            to: result.delivered,
            messageId: result.messageId,
            subject: "Hello",
            size: Buffer.byteLength(sent!.raw, "latin1"),
            script: "news",
          },
        ],
      );
    });

    test("gives a complete message a local identifier, and removes fields that are added in transit", async (t) => {
      const { raw, transport, queue } = await openSendingDomain(t, engine);
      const { messageId, delivered } = await raw(
        messageOf({
          Bcc: "hidden@there.example",
          "Return-Path": "<x@y.example>",
          "DKIM-Signature": "v=1; a=b",
          "X-Own": "kept",
          Received: "from a by b",
        }),
        { to: ["User@There.example", RECIPIENT] },
      );
      assert.deepEqual(delivered, ["user@there.example"], "two spellings of a recipient are merged");
      const text = transport.sent[0]!.raw;
      assert.ok(
        text.includes(
          `Message-ID: ${messageId}\r\nDate: Fri, 20 Nov 2026 12:00:00 +0000\r\nFrom: App <app@example.com>\r\n`,
        ),
        text,
      );
      for (const gone of ["<own@example.com>", "Bcc:", "Return-Path:", "a=b"]) assert.ok(!text.includes(gone), gone);
      for (const kept of ["X-Own: kept\r\n", "Received: from a by b\r\n", "\r\n\r\nHi\r\n"])
        assert.ok(text.includes(kept), kept);
      await raw(messageOf({ Date: "Mon, 2 Nov 2026 01:02:03 +0100" }), { via: "smtp", from: "", dsn: { envid: "e1" } });
      assert.deepEqual(
        [queue.sent[0]!.from, queue.sent[0]!.dsn, queue.sent[0]!.raw.match(/^Date:.*$/gm)],
        ["", { envid: "e1" }, ["Date: Mon, 2 Nov 2026 01:02:03 +0100"]],
      );
    });

    test("rejects an invalid message", async (t) => {
      const { raw, transport } = await openSendingDomain(t, engine);
      await assert.rejects(raw("To: a@b.example\r\n\r\nx"), { message: "The From field contains no address" });
      await assert.rejects(raw(messageOf({ From: "a@example.com, b@example.com" })), {
        message: "The From field contains 2 authors",
      });
      // Clients differ in which of the two authors they display.
      const twice = messageOf().replace("From: ", "From: Boss <boss@bank.example>\r\nFrom: ");
      for (const text of [twice, messageOf().replace("To: ", "from : Boss <boss@bank.example>\r\nTo: ")]) {
        await assert.rejects(raw(text), { code: "E_REJECTED" });
        await assert.rejects(raw(text, { via: "binding" }), { message: "From: header does not match mail from" });
      }
      await assert.rejects(
        raw(messageOf({ From: "App <app@example.com>, Boss <boss@bank.example>" }), { via: "binding" }),
        { message: "From: header does not match mail from" },
      );
      await assert.rejects(raw(messageOf(), { to: ["nobody"] }), {
        message: "'recipients[0]' is not an email address: \"nobody\"",
      });
      await assert.rejects(raw(messageOf(), { from: "nobody" }), {
        message: "'from' is not an email address: \"nobody\"",
      });
      await assert.rejects(raw(messageOf(), { via: "binding", from: "other@example.com" }), {
        message: "From: header does not match mail from",
      });
      await assert.rejects(raw(messageOf({ Received: "x" }), { via: "binding" }), { message: "invalid headers set" });
      await assert.rejects(raw(messageOf({ "Message-ID": "" }), { via: "binding" }), { message: "invalid message-id" });
      assert.equal(transport.sent.length, 0);
    });

    test("stores mail in the files transport exactly as sent", async (t) => {
      const kept: string[] = [];
      const { draft, domains, zone, domain, transport } = await openSendingDomain(t, engine, {
        storeSent: async ({ messageId, source }) =>
          void kept.push(messageId, Buffer.from(source.open() as Uint8Array).toString("latin1")),
      });
      const { messageId } = await draft();
      assert.deepEqual(kept, [messageId, transport.sent[0]!.raw]);
      await domains.update(zone, domain.id, { previewEnabled: false });
      await draft();
      assert.equal(kept.length, 2);
    });
  });
}
