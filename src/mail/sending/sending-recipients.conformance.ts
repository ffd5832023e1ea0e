import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { ACCOUNT, fullQueue, messageOf, openSendingDomain, RECIPIENT } from "./sending.testing.ts";

/** Tests the result for each recipient: delivered, queued, rejected or suppressed. */
export function sendingRecipientsConformance(engine: TestEngine): void {
  describe("sending", () => {
    test("rejects a call with suppressed addresses as a whole, sends a submission to the other recipients, and allows either behavior per domain", async (t) => {
      const { draft, raw, suppressions, domains, zone, domain, transport, queue, trace } = await openSendingDomain(
        t,
        engine,
      );
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
      const nobody = await raw(messageOf(), { to: [RECIPIENT], via: "smtp" });
      assert.deepEqual([nobody.suppressed, nobody.queued, queue.sent.length], [[RECIPIENT], [], 1]);
      await domains.update(zone, domain.id, { dropSuppressed: true });
      assert.deepEqual(
        [(await draft({ to })).suppressed, transport.sent[0]!.to],
        [["User@there.example"], ["else@there.example"]],
      );
    });

    test("returns the result for each recipient, and records rejections", async (t) => {
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
      const { draft, transport, zone, routed, verified } = await openSendingDomain(t, engine, {
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
      verified.add(RECIPIENT);
      const second = await draft({ from: "app@in.example.com" });
      assert.deepEqual(paths[1], {
        account: ACCOUNT,
        zone: zone.id,
        sender: "app@in.example.com",
        senderAuthenticated: true,
        inbound: { id: second.messageId, rcpt: "app@in.example.com" },
      });
    });

    test("does not send a message to the other recipients again if a rejection cannot be recorded", async (t) => {
      const { draft } = await openSendingDomain(t, engine, {
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

    test("rejects mail that can be neither sent nor queued", async (t) => {
      const { draft } = await openSendingDomain(t, engine, { transport: fullQueue });
      await assert.rejects(draft(), {
        code: "E_DELIVERY_FAILED",
        message: `could not send email to ${RECIPIENT}: 452 4.3.1 The outbound queue is full, try again later`,
      });
    });
  });
}
