import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { UserError } from "../../kernel/index.ts";
import type { SendRequest } from "./types.ts";
import { ACCOUNT, draftOf, fullQueue, messageOf, openSending, OTHER_ACCOUNT } from "./sending.testing.ts";

const ID = /^<[A-Za-z0-9]{36}@example\.com>$/;
const TO = "user@there.example";

export function sendingConformance(engine: TestEngine): void {
  describe("sending", () => {
    const open = async (...args: Parameters<typeof openSending>) => {
      const house = await openSending(...args);
      const zone = await house.newZone();
      const domain = await house.domains.create(zone, "example.com");
      const draft = (more: Record<string, unknown> = {}, request: Partial<SendRequest> = {}) =>
        house.sending.send({
          account: ACCOUNT,
          via: "rest",
          from: "",
          to: [],
          draft: draftOf(more),
          ...request,
        } as SendRequest);
      const raw = (text = messageOf(), request: Partial<SendRequest> = {}) =>
        house.sending.send({
          account: ACCOUNT,
          via: "rest_raw",
          from: "app@example.com",
          to: [TO],
          raw: house.spool.fromMemory(Buffer.from(text)),
          ...request,
        } as SendRequest);
      return { ...house, zone, domain, draft, raw };
    };

    test("builds a draft, signs it for its domain and passes it to the transport", async (t) => {
      const { draft, transport, queue, trace, zone } = await open(t, engine);
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

    test("gives a complete message a local identifier, and removes fields added in transit", async (t) => {
      const { raw, transport, queue } = await open(t, engine);
      const { messageId, delivered } = await raw(
        messageOf({
          Bcc: "hidden@there.example",
          "Return-Path": "<x@y.example>",
          "DKIM-Signature": "v=1; a=b",
          "X-Own": "kept",
          Received: "from a by b",
        }),
        { to: ["User@There.example", TO] },
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

    test("requires the sender to be in a sending domain of the account that has its records", async (t) => {
      const { draft, raw, domains, zones, zone, domain, newZone, transport, clock } = await open(t, engine);
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
      const { raw, transport, queue, domains, zone, newZone } = await open(t, engine);
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
      const { draft, domains, zone, domain, routed, trace } = await open(t, engine);
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

    test("allows any routed name as the sender of mail to verified addresses", async (t) => {
      const { draft, transport, routed, verified, dkimKeys, zone } = await open(t, engine);
      routed.add("in.example.com");
      const name = { zone: zone.id, domain: "in.example.com", use: "routing" as const };
      await dkimKeys.ensure({ ...name, account: ACCOUNT, selector: "reelpost" });
      await assert.rejects(draft({ from: "app@in.example.com" }), { code: "E_SENDER_DOMAIN_NOT_AVAILABLE" });
      verified.add(TO);
      assert.deepEqual((await draft({ from: "app@in.example.com" })).delivered, [TO]);
      assert.match(transport.sent[0]!.raw, /s=reelpost;/);
      await assert.rejects(draft({ from: "app@in.example.com", cc: "else@there.example" }), {
        code: "E_SENDER_DOMAIN_NOT_AVAILABLE",
      });
      await assert.rejects(draft({ from: "app@in.example.com" }, { account: OTHER_ACCOUNT }), {
        code: "E_SENDER_DOMAIN_NOT_AVAILABLE",
      });
    });

    test("suppressed addresses: rejects a call as a whole, sends a submission to the other recipients, and allows either behavior per domain", async (t) => {
      const { draft, raw, suppressions, domains, zone, domain, transport, queue, trace } = await open(t, engine);
      await suppressions.create(ACCOUNT, {
        email: "USER@there.example",
        scope: { type: "sending_domain", value: "example.com" },
      });
      const to = ["User@there.example", "else@there.example"];
      for (const via of ["rest", "binding"] as const)
        await assert.rejects(draft({ to }, { via }), {
          code: "E_RECIPIENT_SUPPRESSED",
          message: "email to User@there.example not allowed: the address is on the suppression list",
        });
      await assert.rejects(raw(messageOf(), { to }), { code: "E_RECIPIENT_SUPPRESSED" });
      const submitted = await raw(messageOf(), { to, via: "smtp" });
      assert.deepEqual(
        [submitted.queued, submitted.suppressed, queue.sent[0]!.to],
        [["else@there.example"], ["User@there.example"], ["else@there.example"]],
      );
      const rejected = trace.events.filter(({ step }) => step === "rejected");
      assert.deepEqual(
        rejected.map(({ account, detail }) => [account, detail["via"], detail["to"], detail["code"], detail["text"]]),
        [
          ...["rest", "binding", "rest_raw"].map((via) => [
            ACCOUNT,
            via,
            to,
            550,
            "email to User@there.example not allowed: the address is on the suppression list",
          ]),
          [
            ACCOUNT,
            "smtp",
            ["User@there.example"],
            550,
            "email to User@there.example not allowed: the address is on the suppression list",
          ],
        ],
      );
      assert.deepEqual(
        [rejected[3]!.message, rejected[3]!.detail["messageId"]],
        [submitted.messageId, submitted.messageId],
      );
      const nobody = await raw(messageOf(), { to: [TO], via: "smtp" });
      assert.deepEqual([nobody.suppressed, nobody.queued, queue.sent.length], [[TO], [], 1]);
      await domains.update(zone, domain.id, { dropSuppressed: true });
      assert.deepEqual(
        [(await draft({ to })).suppressed, transport.sent[0]!.to],
        [["User@there.example"], ["else@there.example"]],
      );
    });

    test("limits sizes and recipients", async (t) => {
      const { draft, raw, verified } = await open(t, engine, {
        limits: { messageBytes: 20_000, verifiedMessageBytes: 50_000, recipients: 3 },
      });
      const tooLarge = {
        code: "E_CONTENT_TOO_LARGE",
        message: "Email message size is bigger than the production size limit of 0.02MiB.",
      };
      const [large, huge] = ["x".repeat(30_000), "x".repeat(60_000)];
      await assert.rejects(draft({ text: large }), tooLarge);
      await assert.rejects(raw(messageOf({}, large)), tooLarge);
      verified.add(TO);
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

    test("rejects an invalid message", async (t) => {
      const { raw, transport } = await open(t, engine);
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

    test("limits messages per minute, and messages to unverified addresses per day", async (t) => {
      const { draft, sending, verified, clock } = await open(t, engine, { limits: { perMinute: 3, perDay: 4 } });
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
      verified.add(TO);
      await draft();
      assert.deepEqual((await sending.limits(OTHER_ACCOUNT)).usage!.sent, 0);
      clock.advance(12 * 3_600_000);
      verified.clear();
      await draft();
      await sending.sweep();
      assert.equal((await sending.limits(ACCOUNT)).usage!.sent, 1);
    });

    test("returns the result for each recipient; rejections are recorded", async (t) => {
      const noted: unknown[] = [];
      const paths: unknown[] = [];
      const bounces = {
        pathFor: async (request: unknown) => (paths.push(request), "path@rp-bounce.example.com"),
        pathsFor: async (request: { to: string[] }) => (
          paths.push(request),
          request.to.map((_, at) => `path-${at}@rp-bounce.example.com`)
        ),
        recordRejection: async (refusal: unknown) => void noted.push(refusal),
      };
      const reply = { code: 550, enhanced: "5.1.1", text: "no such user" };
      const { draft, transport, zone, routed, verified } = await open(t, engine, {
        bounces,
        answer: (rcpt) =>
          rcpt.startsWith("gone")
            ? { rcpt, ok: false, temporary: false, reply }
            : { rcpt, ok: true, ...(rcpt.startsWith("later") && { queued: true as const }) },
      });
      const result = await draft({ to: ["gone@x.example", "later@x.example", "here@x.example"] });
      assert.deepEqual(
        [result.permanentBounces, result.queued, result.delivered, result.rejections],
        [["gone@x.example"], ["later@x.example"], ["here@x.example"], [{ rcpt: "gone@x.example", reply }]],
      );
      assert.deepEqual(
        [transport.sent[0]!.from, noted],
        ["path-0@rp-bounce.example.com", [{ account: ACCOUNT, domain: "example.com", rcpt: "gone@x.example", reply }]],
      );
      assert.deepEqual(
        [...transport.sent[0]!.fromFor!],
        transport.sent[0]!.to.map((rcpt, at) => [rcpt, `path-${at}@rp-bounce.example.com`]),
      );
      assert.deepEqual(paths, [
        {
          account: ACCOUNT,
          zone: zone.id,
          domain: "example.com",
          messageId: result.messageId,
          to: transport.sent[0]!.to,
          from: "app@example.com",
        },
      ]);
      routed.add("in.example.com");
      verified.add(TO);
      const second = await draft({ from: "app@in.example.com" });
      assert.deepEqual(paths[1], {
        account: ACCOUNT,
        zone: zone.id,
        sender: "app@in.example.com",
        senderAuthenticated: true,
        inbound: { id: second.messageId, rcpt: "app@in.example.com" },
      });
    });

    test("if a rejection cannot be recorded, the message is not sent to the other recipients again", async (t) => {
      const { draft } = await open(t, engine, {
        bounces: {
          pathFor: async () => "path@rp-bounce.example.com",
          pathsFor: async ({ to }) => to.map(() => "path@rp-bounce.example.com"),
          recordRejection: () => Promise.reject(new Error("database unavailable")),
        },
        answer: (rcpt) =>
          rcpt.startsWith("gone")
            ? { rcpt, ok: false, temporary: false, reply: { code: 550, enhanced: "5.1.1", text: "no such user" } }
            : { rcpt, ok: true },
      });
      assert.deepEqual((await draft({ to: ["gone@x.example", "here@x.example"] })).delivered, ["here@x.example"]);
    });

    test("the domain of a deleted zone no longer sends, and does not block its name", async (t) => {
      const { draft, domains, zones, zone, newZone, clock } = await open(t, engine);
      // The deletion goes unnoticed.
      domains.close();
      await zones.delete(zone.id);
      clock.advance(60_000);
      await assert.rejects(draft(), { code: "E_SENDER_DOMAIN_NOT_AVAILABLE" });
      await domains.create(await newZone("example.com", OTHER_ACCOUNT), "example.com");
      await assert.rejects(draft(), { code: "E_SENDER_DOMAIN_NOT_AVAILABLE" });
      await draft({}, { account: OTHER_ACCOUNT });
    });

    test("leaves mail that can be neither sent nor queued to the caller", async (t) => {
      const { draft } = await open(t, engine, { transport: fullQueue });
      await assert.rejects(draft(), {
        code: "E_DELIVERY_FAILED",
        message: `could not send email to ${TO}: 452 4.3.1 The outbound queue is full, try again later`,
      });
    });

    test("stores mail for later inspection exactly as sent", async (t) => {
      const kept: string[] = [];
      const { draft, domains, zone, domain, transport } = await open(t, engine, {
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
