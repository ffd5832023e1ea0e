import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { ACCOUNT, openActivity, OTHER_ACCOUNT, START, ZONE } from "./activity.testing.ts";
import type { Entry } from "./types.ts";

const stepsOf = ({ events }: Entry) => events.map(({ step }) => step).join(" ");

export function entriesConformance(engine: TestEngine): void {
  describe("the entries of a message", () => {
    test("are separate for each recipient, with only its own steps", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      const to = [
        "drop@here.example",
        "worker@here.example",
        "Nobody@here.example",
        "fail@here.example",
        "elsewhere@there.example",
      ];
      recordStep("m1", "received", { from: "", to, size: 10, subject: "All of you" });
      recordStep("m1", "authenticated", {
        spf: "pass",
        dkim: "pass",
        dmarc: "pass",
        arc: "none",
        accept: true,
        quarantine: true,
      });
      recordStep("m1", "matched", { kind: "drop" }, { rcpt: to[0]! });
      recordStep("m1", "dropped", {}, { rcpt: to[0]! });
      recordStep("m1", "matched", { kind: "worker", script: `${ACCOUNT}/inbox` }, { rcpt: to[1]! });
      recordStep("m1", "handled", { script: `${ACCOUNT}/inbox`, outcome: "ok" }, { rcpt: to[1]! });
      recordStep("m1", "matched", { kind: "none", why: "no rule" }, { rcpt: to[2]! });
      recordStep("m1", "rejected", { code: 550, enhanced: "5.1.1", text: "No such recipient" }, { rcpt: to[2]! });
      recordStep("m1", "matched", { kind: "worker", script: `${ACCOUNT}/broken` }, { rcpt: to[3]! });
      recordStep("m1", "handled", { script: `${ACCOUNT}/broken`, outcome: "exceededCpu" }, { rcpt: to[3]! });
      recordStep("m1", "deferred", { code: 451, enhanced: "4.3.0", text: "The worker failed" }, { rcpt: to[3]! });
      const { items } = await activity.search({ zone: ZONE });
      const of = new Map(
        items.map((entry) => [entry.to, [entry.status, entry.action, entry.script, entry.error, stepsOf(entry)]]),
      );
      assert.deepEqual(Object.fromEntries(of), {
        "drop@here.example": ["dropped", "drop", null, null, "received authenticated matched dropped"],
        "worker@here.example": ["handled", "worker", "inbox", null, "received authenticated matched handled"],
        "Nobody@here.example": [
          "rejected",
          "reject",
          null,
          "550 5.1.1 No such recipient",
          "received authenticated matched rejected",
        ],
        "fail@here.example": [
          "error",
          "worker",
          "broken",
          "451 4.3.0 The worker failed",
          "received authenticated matched handled deferred",
        ],
      });
      assert.ok(
        items.every(
          (entry) => entry.isNdr && entry.isSpam && entry.account === ACCOUNT && entry.subject === "All of you",
        ),
      );
      assert.deepEqual((await activity.search({})).items.length, 4, "mail for an unknown domain is not logged");
    });

    test("show a delivery report about several recipients only for those recipients", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      const [delivered, dropped, gone, full] = [
        "ok@here.example",
        "drop@here.example",
        "gone@here.example",
        "full@here.example",
      ];
      recordStep("m1", "received", { from: "a@there.example", to: [delivered, dropped, gone, full] });
      recordStep(
        "m1",
        "delivered",
        {
          messageId: "<c1@here.example>",
          to: "x@else.example",
          inSession: true,
          code: 250,
          enhanced: "2.0.0",
          text: "Ok",
          cause: "forward",
        },
        { rcpt: delivered },
      );
      recordStep("m1", "dropped", {}, { rcpt: dropped });
      for (const rcpt of [gone, full])
        recordStep("m1", "rejected", { code: 550, enhanced: "5.1.1", text: "no", told: true }, { rcpt });
      const report = { messageId: "<report@fwd.example>", to: "a@there.example", cause: "reply" };
      recordStep("m1", "queued", { ...report, outbound: "o1" });
      recordStep("m1", "replied", {
        report: "failed",
        from: "MAILER-DAEMON@fwd.example",
        to: "a@there.example",
        messageId: "<report@fwd.example>",
        recipients: [gone, full],
      });
      recordStep("m1", "delivered", { ...report, outbound: "o1", code: 250, enhanced: "2.0.0", text: "Ok" });
      const { items } = await activity.search({ account: ACCOUNT, kind: "routing" });
      assert.deepEqual(
        Object.fromEntries(
          items.map((entry) => [
            entry.to,
            [entry.status, stepsOf(entry), entry.deliveries.map(({ to, state }) => `${to} ${state}`)],
          ]),
        ),
        {
          [delivered!]: ["delivered", "received delivered", ["x@else.example delivered"]],
          [dropped!]: ["dropped", "received dropped", []],
          [gone!]: ["rejected", "received rejected replied", ["a@there.example handed over"]],
          [full!]: ["rejected", "received rejected replied", ["a@there.example handed over"]],
        },
      );
      assert.deepEqual(
        (await activity.findSent("", "<report@fwd.example>")).map(({ to, status }) => [to, status]),
        [["a@there.example", "delivered"]],
      );
    });

    test("list a worker's forwards, which determine the status, under the message, and its reply as a separate message", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      const rcpt = "worker@here.example";
      recordStep("m1", "received", { from: "a@there.example", to: [rcpt] });
      recordStep("m1", "matched", { kind: "worker", script: "inbox" }, { rcpt });
      recordStep(
        "m1",
        "delivered",
        {
          messageId: "<f1@here.example>",
          to: "x@else.example",
          inSession: true,
          code: 250,
          enhanced: "2.0.0",
          text: "Ok",
          cause: "forward",
        },
        { rcpt },
      );
      recordStep(
        "m1",
        "forwarded",
        { script: "inbox", to: "x@else.example", messageId: "<f1@here.example>" },
        { rcpt },
      );
      recordStep(
        "m1",
        "queued",
        { outbound: "o2", messageId: "<r1@here.example>", to: "a@there.example", cause: "reply" },
        { rcpt },
      );
      recordStep(
        "m1",
        "replied",
        { script: "inbox", from: rcpt, to: ["a@there.example"], messageId: "<r1@here.example>" },
        { rcpt },
      );
      recordStep("m1", "handled", { script: "inbox", outcome: "ok" }, { rcpt });
      const routed = async () =>
        (await activity.search({ zone: ZONE, kind: "routing" })).items.map((entry) => [
          entry.status,
          entry.action,
          entry.deliveries.length,
        ]);
      const answers = async () =>
        (await activity.search({ zone: ZONE, kind: "sending" })).items.map((entry) => [
          entry.message,
          entry.from,
          entry.to,
          entry.status,
          entry.origin,
        ]);
      assert.deepEqual(await routed(), [["delivered", "worker", 2]]);
      assert.deepEqual(await answers(), [["<r1@here.example>", rcpt, "a@there.example", "queued", "reply"]]);
      recordStep(
        "m1",
        "bounced",
        {
          outbound: "o2",
          messageId: "<r1@here.example>",
          to: "a@there.example",
          cause: "reply",
          code: 550,
          enhanced: "5.1.1",
          text: "gone",
        },
        { rcpt },
      );
      assert.deepEqual(await routed(), [["delivered", "worker", 2]], "the message itself was forwarded");
      assert.deepEqual((await answers())[0]![3], "deliveryFailed");
    });

    test("are one per recipient of sent mail, under its Message-ID, even if its steps use other ids", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      const messageId = "<s1@here.example>";
      recordStep(
        "out-9",
        "queued",
        { outbound: "out-9", messageId, to: "b@else.example", cause: "send" },
        { rcpt: "b@else.example" },
      );
      recordStep(
        messageId,
        "delivered",
        { messageId, inSession: true, code: 250, enhanced: "2.0.0", text: "Ok" },
        { rcpt: "a@else.example" },
      );
      recordStep("f".repeat(32), "sent", {
        script: `${ACCOUNT}/news`,
        binding: "MAIL",
        from: "news@here.example",
        to: ["a@else.example", "B@Else.example"],
        messageId,
        subject: "News",
      });
      recordStep(
        "out-9",
        "bounced",
        { outbound: "out-9", messageId, code: 550, enhanced: "5.1.1", text: "no" },
        { rcpt: "b@else.example" },
      );
      const items = await activity.findSent(ACCOUNT, messageId);
      assert.deepEqual(
        items
          .map((entry) => [
            entry.to.toLowerCase(),
            entry.status,
            entry.from,
            entry.subject,
            entry.zone,
            entry.script,
            entry.errorCause,
          ])
          .sort(),
        [
          ["a@else.example", "delivered", "news@here.example", "News", ZONE, "news", null],
          ["b@else.example", "deliveryFailed", "news@here.example", "News", ZONE, "news", "5.1.1"],
        ],
      );
      assert.deepEqual(await activity.findSent(OTHER_ACCOUNT, messageId), []);
    });

    test("show a deferred forward that the server queues as another copy, delivered once", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      const rcpt = "box@here.example";
      recordStep("m1", "received", { from: "a@there.example", to: [rcpt, "drop@here.example"] });
      for (const n of [1, 2]) {
        recordStep("m1", "matched", { kind: "forward", to: ["x@else.example"] }, { rcpt });
        recordStep(
          "m1",
          "deferred",
          {
            messageId: `<c${n}@here.example>`,
            to: "x@else.example",
            cause: "forward",
            inSession: true,
            code: 451,
            enhanced: "4.2.0",
            text: "greylisted",
          },
          { rcpt },
        );
        recordStep("m1", "deferred", { code: 451, enhanced: "4.2.0", text: "greylisted", held: true }, { rcpt });
      }
      const found = async () =>
        (await activity.search({ zone: ZONE, to: rcpt })).items.map(({ status, deliveries }) => [
          status,
          deliveries.map(({ messageId, state }) => `${messageId} ${state}`).join(),
        ])[0];
      assert.deepEqual(await found(), ["deferred", "<c2@here.example> deferred"]);
      recordStep(
        "m1",
        "delivered",
        {
          messageId: "<c3@here.example>",
          to: "x@else.example",
          cause: "forward",
          inSession: true,
          code: 250,
          enhanced: "2.0.0",
          text: "Ok",
        },
        { rcpt },
      );
      recordStep("m1", "forwarded", { to: ["x@else.example"], messageId: "<c3@here.example>" }, { rcpt });
      assert.deepEqual(await found(), ["delivered", "<c3@here.example> delivered"]);
    });

    test("record one step for several copies, later reports about them, and a complaint", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      const rcpt = "x@here.example";
      recordStep("m1", "received", { from: "a@there.example", to: [rcpt], subject: "=?utf-8?Q?gr=C3=BCn?=" });
      recordStep(
        "m1",
        "forwarded",
        { to: ["one@else.example", "two@else.example"], messageId: "<c1@here.example>" },
        { rcpt },
      );
      const only = async () => (await activity.search({ zone: ZONE, kind: "routing" })).items[0]!;
      assert.deepEqual(
        [(await only()).status, (await only()).deliveries.map(({ to, state }) => [to, state]), (await only()).subject],
        [
          "delivered",
          [
            ["one@else.example", "handed over"],
            ["two@else.example", "handed over"],
          ],
          "grün",
        ],
      );
      recordStep(
        "m1",
        "bounced",
        { report: true, enhanced: "5.1.1", text: "unknown", to: "two@else.example", messageId: "<c1@here.example>" },
        { rcpt },
      );
      assert.deepEqual(
        [(await only()).status, (await only()).error],
        ["deliveryFailed", "two@else.example: 5.1.1 unknown"],
      );
      recordStep("s", "sent", {
        from: "news@here.example",
        to: ["b@else.example"],
        messageId: "<s@here.example>",
        via: "rest",
      });
      recordStep(
        "<s@here.example>",
        "delivered",
        { messageId: "<s@here.example>", to: "b@else.example" },
        { rcpt: "b@else.example" },
      );
      recordStep(
        "<s@here.example>",
        "bounced",
        { complaint: "abuse", report: true, messageId: "<s@here.example>" },
        { rcpt: "b@else.example" },
      );
      assert.deepEqual(
        (await activity.findSent(ACCOUNT, "<s@here.example>")).map(({ status, isSpam, events }) => [
          status,
          isSpam,
          events.length,
        ]),
        [["delivered", true, 3]],
      );
      recordStep(
        "<s@here.example>",
        "bounced",
        { report: true, enhanced: "5.2.2", text: "full", to: "elsewhere@far.example", messageId: "<s@here.example>" },
        { rcpt: "b@else.example" },
      );
      assert.deepEqual(
        (await activity.findSent(ACCOUNT, "<s@here.example>")).map(({ to, status }) => [to, status]),
        [["b@else.example", "deliveryFailed"]],
      );
    });

    test("attribute a step to the original recipient if it names only the destination of a copy", async (t) => {
      const { activity, recordStep } = await openActivity(t, engine);
      recordStep("m1", "received", { from: "a@there.example", to: ["x@here.example", "y@here.example"] });
      recordStep("m1", "matched", { kind: "forward", to: ["me@else.example"] }, { rcpt: "y@here.example" });
      recordStep("m1", "delivered", { messageId: "<c@here.example>", inSession: true }, { rcpt: "me@else.example" });
      const { items } = await activity.search({ zone: ZONE });
      assert.deepEqual(items.map(({ to, status }) => [to, status]).sort(), [
        ["x@here.example", "received"],
        ["y@here.example", "delivered"],
      ]);
    });

    test("combine steps from several processes, in any order", async (t) => {
      const { activity, second, step, clock } = await openActivity(t, engine);
      const runner = await second();
      const rcpt = "box@here.example";
      const copies = Array.from({ length: 12 }, (_, n) => ({
        messageId: `<c${n}@here.example>`,
        to: `t${n}@else.example`,
      }));
      step(runner, "m1", "delivered", { outbound: "o0", ...copies[0], code: 250, text: "Ok" }, { rcpt });
      await runner.flush();
      step(
        activity,
        "m1",
        "received",
        { from: "a@there.example", to: [rcpt], subject: "Late" },
        { at: new Date(clock.now() - 1000) },
      );
      for (const copy of copies.slice(1)) step(activity, "m1", "queued", { outbound: "o", ...copy }, { rcpt });
      for (const [n, copy] of copies.entries()) {
        if (n > 0)
          step(
            n % 2 === 0 ? activity : runner,
            "m1",
            "delivered",
            { outbound: "o", ...copy, code: 250, text: "Ok" },
            { rcpt },
          );
        if (n % 3 === 0) await Promise.all([activity.flush(), runner.flush()]);
      }
      await Promise.all([activity.flush(), runner.flush()]);
      const { items } = await runner.search({ account: ACCOUNT });
      assert.deepEqual(
        items.map(({ status, subject, from, deliveries, events, at }) => [
          status,
          subject,
          from,
          deliveries.length,
          events.length,
          events[0]!.step,
          at < START,
        ]),
        [["delivered", "Late", "a@there.example", 12, 24, "received", true]],
      );
    });
  });
}
