import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { ACCOUNT, openActivity, OTHER_ACCOUNT, START, ZONE } from "./activity.testing.ts";
import type { Entry } from "./types.ts";

const stepsOf = ({ events }: Entry) => events.map(({ step }) => step).join(" ");

export function statusConformance(engine: TestEngine): void {
  describe("the status of a message", () => {
    test("of a forwarded message is shown in a single entry, whatever the number of attempts", async (t) => {
      const { activity, forwarded } = await openActivity(t, engine);
      forwarded(1);
      const {
        items: [entry],
      } = await activity.search({ account: ACCOUNT });
      assert.deepEqual(
        { ...entry, id: "", events: entry!.events.map(({ step }) => step) },
        {
          id: "",
          kind: "routing",
          message: "1".padStart(32, "0"),
          account: ACCOUNT,
          zone: ZONE,
          at: START + 60_000,
          changedAt: START + 60_004,
          from: "sender1@there.example",
          to: "box1@here.example",
          subject: "Message 1",
          headerId: "<in-1@there.example>",
          status: "delivered",
          action: "forward",
          origin: "incoming",
          rule: "rule-1",
          script: null,
          spf: "pass",
          dkim: "none",
          dmarc: "none",
          arc: "none",
          errorCause: null,
          error: null,
          isNdr: false,
          isSpam: false,
          spamScore: null,
          spamThreshold: null,
          size: 1001,
          ip: "192.0.2.1",
          deliveries: [
            {
              messageId: "<copy-1@here.example>",
              to: "me@else.example",
              state: "delivered",
              at: START + 60_004,
              outbound: "out-1",
              code: 250,
              enhanced: "2.0.0",
              text: "Ok",
              host: "mx.else.example",
            },
          ],
          events: ["received", "authenticated", "matched", "queued", "delivered"],
          answer: null,
        },
      );
      assert.deepEqual(entry!.events[4]!.detail, {
        outbound: "out-1",
        messageId: "<copy-1@here.example>",
        to: "me@else.example",
        code: 250,
        enhanced: "2.0.0",
        text: "Ok",
        host: "mx.else.example",
        attempts: 1,
      });
      assert.match(entry!.id, /^[0-9a-f]{32}$/);
      assert.deepEqual(await activity.get({ account: ACCOUNT }, entry!.id), entry);
      await assert.rejects(activity.get({ account: OTHER_ACCOUNT }, entry!.id), /There is no log entry/);
      await assert.rejects(
        activity.get({ account: ACCOUNT, zone: "f".repeat(32) }, entry!.id),
        /There is no log entry/,
      );
    });

    test("is that of the last attempt, after a deferral and retries, and all attempts are stored", async (t) => {
      const { activity, forwarded, recordStep, clock } = await openActivity(t, engine);
      const message = forwarded(1, { outcome: "waits" });
      const only = async () => (await activity.search({ account: ACCOUNT })).items[0]!;
      const copy = { outbound: "out-1", messageId: "<copy-1@here.example>", to: "me@else.example" };
      assert.equal((await only()).status, "queued");
      for (const attempts of [1, 2]) {
        clock.advance(60_000);
        recordStep(
          message,
          "deferred",
          {
            ...copy,
            code: 450,
            enhanced: "4.2.1",
            text: "mailbox full",
            host: "mx.else.example",
            attempts,
            nextTry: "2026-11-21T13:00:00.000Z",
          },
          { rcpt: "box1@here.example" },
        );
      }
      assert.deepEqual(
        [(await only()).status, (await only()).errorCause, (await only()).error],
        ["deferred", "4.2.1", "me@else.example: 450 4.2.1 mailbox full (mx.else.example)"],
      );
      recordStep(
        message,
        "bounced",
        { ...copy, code: 451, enhanced: "4.4.7", text: "over", state: "expired", attempts: 3 },
        { rcpt: "box1@here.example" },
      );
      assert.deepEqual(
        [(await only()).status, (await only()).errorCause, stepsOf(await only())],
        ["deliveryFailed", "4.4.7", "received authenticated matched queued deferred deferred bounced"],
      );
      clock.advance(1000);
      recordStep(
        message,
        "delivered",
        { ...copy, code: 250, enhanced: "2.0.0", text: "Ok" },
        { rcpt: "box1@here.example" },
      );
      assert.deepEqual([(await only()).status, (await only()).error], ["delivered", null], "the retry delivered it");
    });

    test("is queued if the deferral and the queueing happen in the same millisecond, whatever the order of events", async (t) => {
      const { activity, recordStep, clock } = await openActivity(t, engine);
      const rcpt = "box@here.example";
      const copy = { messageId: "<c@here.example>", to: "me@else.example", cause: "forward" };
      const steps = [
        ["deferred", { ...copy, inSession: true, code: 451, enhanced: "4.4.1", text: "refused" }],
        ["queued", { ...copy, outbound: "out-1" }],
      ] as const;
      for (const [message, order] of [
        ["m1", steps],
        ["m2", steps.toReversed()],
      ] as const) {
        recordStep(message, "matched", { kind: "forward" }, { rcpt, account: ACCOUNT, zone: ZONE });
        const at = new Date(clock.now());
        for (const [step, detail] of order) recordStep(message, step, detail, { rcpt, at });
      }
      assert.deepEqual(
        (await activity.search({ account: ACCOUNT })).items.map(({ status }) => status),
        ["queued", "queued"],
      );
    });

    test("is final for a processed report, which has no rule", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      const rcpt = "rp-1@rp-bounce.here.example";
      recordStep("m1", "received", { from: "", to: [rcpt], size: 10, subject: "Undelivered" });
      recordStep(
        "m1",
        "handled",
        { report: true, about: "<sent@here.example>" },
        { rcpt, account: ACCOUNT, zone: ZONE },
      );
      const {
        items: [entry],
      } = await activity.search({ account: ACCOUNT });
      assert.deepEqual([entry!.to, entry!.status, entry!.action, entry!.isNdr], [rcpt, "handled", null, true]);
    });

    test("is set for messages that a killed process left as received", async (t) => {
      const { activity, recordStep, clock } = await openActivity(t, engine);
      const to = ["queued@here.example", "failed@here.example", "lost@here.example"];
      recordStep("m1", "received", { from: "a@there.example", to });
      await activity.flush();
      const before = clock.now();
      recordStep("m2", "received", { from: "a@there.example", to: ["current@here.example"] });
      const message = (rcpt: string, id: string) => ({
        id,
        account: undefined,
        zone: undefined,
        cause: "forward" as const,
        from: "",
        messageId: `<${id}@here.example>`,
        script: undefined,
        inbound: { id: "m1", rcpt },
        senderAuthenticated: true,
        size: 1,
        hasBody: true,
        createdAt: new Date(before),
        finishedAt: undefined,
      });
      const recipient = {
        id: "r",
        rcpt: "me@else.example",
        domain: "else.example",
        attempts: 1,
        nextTry: undefined,
        paused: undefined,
        host: undefined,
        finishedAt: undefined,
      };
      const queried: string[][] = [];
      const queue = {
        async ofInbound(messages: string[]) {
          queried.push(messages);
          return [
            {
              message: message(to[0]!, "o1"),
              recipients: [{ ...recipient, state: "queued" as const, reply: undefined }],
            },
            {
              message: message(to[1]!, "o2"),
              recipients: [
                {
                  ...recipient,
                  state: "failed" as const,
                  reply: { code: 550, enhanced: "5.1.1", text: "no such user" },
                },
              ],
            },
          ];
        },
      };
      assert.equal(await activity.resolveInterrupted(queue, before), 3);
      assert.deepEqual(queried, [["m1"]]);
      const { items } = await activity.search({ account: ACCOUNT });
      assert.deepEqual(Object.fromEntries(items.map((entry) => [entry.to, [entry.status, entry.error]])), {
        "queued@here.example": ["queued", null],
        "failed@here.example": ["deliveryFailed", "me@else.example: 550 5.1.1 no such user"],
        "lost@here.example": ["unknown", "the server stopped before the outcome was logged"],
        "current@here.example": ["received", null],
      });
      assert.equal(await activity.resolveInterrupted(queue, before), 0, "each message is processed once");
      recordStep("m1", "handled", { outcome: "ok" }, { rcpt: to[2]! });
      assert.equal(
        (await activity.search({ account: ACCOUNT, to: to[2]! })).items[0]!.status,
        "handled",
        "a later step overrides it",
      );
    });

    test("is logged for a bounce to a return path without an account", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      const path = "SRS0=abcd=there.example=a@fwd.example";
      recordStep("m1", "received", { from: "", to: [path], subject: "Undelivered", returnPaths: [path] });
      recordStep(
        "m1",
        "queued",
        { outbound: "o1", messageId: "<b1@fwd.example>", to: "a@there.example", cause: "forward" },
        { rcpt: path },
      );
      recordStep(
        "m1",
        "delivered",
        {
          outbound: "o1",
          messageId: "<b1@fwd.example>",
          to: "a@there.example",
          cause: "forward",
          code: 250,
          enhanced: "2.0.0",
          text: "Ok",
        },
        { rcpt: path },
      );
      const { items } = await activity.search({ account: "" });
      assert.deepEqual(
        items.map(({ to, status, isNdr, subject }) => [to, status, isNdr, subject]),
        [[path, "delivered", true, "Undelivered"]],
      );
      assert.deepEqual((await activity.search({ account: ACCOUNT })).items, []);
    });

    test("is rejected for a whole message because of its sender or its content", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      recordStep("m1", "rejected", {
        from: "a@there.example",
        to: ["x@here.example", "y@here.example"],
        code: 554,
        enhanced: "5.6.0",
        text: "could not parse",
      });
      recordStep("m2", "received", { from: "forged@there.example", to: ["x@here.example"] });
      recordStep("m2", "authenticated", {
        spf: "fail",
        dkim: "none",
        dmarc: "fail",
        arc: "none",
        accept: false,
        reply: { code: 550, enhanced: "5.7.1", text: "fails DMARC" },
        details: { spf: { result: "fail", huge: "x".repeat(100_000) } },
      });
      const { items } = await activity.search({ zone: ZONE });
      assert.deepEqual(
        items.map(({ message, to, status, action, error }) => [message, to, status, action, error]).sort(),
        [
          ["m1", "x@here.example", "rejected", "reject", "554 5.6.0 could not parse"],
          ["m1", "y@here.example", "rejected", "reject", "554 5.6.0 could not parse"],
          ["m2", "x@here.example", "rejected", "reject", "550 5.7.1 fails DMARC"],
        ],
      );
      assert.ok(JSON.stringify(items).length < 5000);
    });

    test("is delivered once a deferred message has been queued and delivered", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      const rcpt = "worker@here.example";
      recordStep("m1", "received", { from: "a@there.example", to: [rcpt, "drop@here.example"] });
      recordStep("m1", "handled", { outcome: "exception" }, { rcpt });
      recordStep("m1", "deferred", { code: 451, enhanced: "4.3.0", text: "later", held: true }, { rcpt });
      const status = async () => (await activity.search({ zone: ZONE, to: rcpt })).items[0]!.status;
      assert.equal(await status(), "deferred");
      recordStep("m1", "deferred", { code: 452, enhanced: "4.2.2", text: "still full", held: true }, { rcpt });
      assert.equal(await status(), "deferred");
      recordStep("m1", "handled", { outcome: "ok" }, { rcpt });
      assert.equal(await status(), "handled");
    });

    test("is a failed delivery if delivery fails permanently after acceptance, whatever the reply code", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      recordStep("m1", "received", { from: "a@there.example", to: ["x@here.example"] });
      recordStep(
        "m1",
        "deferred",
        { code: 451, enhanced: "4.3.0", text: "later", held: true },
        { rcpt: "x@here.example" },
      );
      recordStep(
        "m1",
        "bounced",
        { code: 451, enhanced: "4.3.0", text: "later", held: true, told: true },
        { rcpt: "x@here.example" },
      );
      assert.deepEqual(
        (await activity.search({ zone: ZONE })).items.map(({ status, error }) => [status, error]),
        [["deliveryFailed", "451 4.3.0 later"]],
      );
    });

    test("has remote text in a form that the database accepts, up to a maximum length", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      recordStep("m1", "received", {
        from: "a\0b@there.example",
        to: ["x@here.example"],
        subject: `Null \0 and half \ud800 and long ${"x".repeat(5000)}`,
        messageId: "<\0@x>",
      });
      for (let n = 0; n < 300; n++)
        recordStep(
          "m1",
          "deferred",
          {
            messageId: `<${n}@here.example>`,
            to: `t${n}@else.example`,
            code: 450,
            text: `no\r\n${"y".repeat(2000)}\0`,
          },
          { rcpt: "x@here.example" },
        );
      const {
        items: [entry],
      } = await activity.search({ account: ACCOUNT });
      assert.deepEqual(
        [
          entry!.from,
          entry!.subject!.length,
          entry!.subject!.startsWith("Null   and half � and"),
          entry!.events.length,
          entry!.deliveries.length,
        ],
        ["a b@there.example", 1000, true, 60, 100],
      );
      assert.equal(entry!.events[0]!.step, "received");
      assert.ok(entry!.events.at(-1)!.detail["text"]!.toString().length <= 500);
      assert.doesNotMatch(JSON.stringify(entry), /\\u0000|\\ud800|\\r|\\n/);
    });
  });
}
