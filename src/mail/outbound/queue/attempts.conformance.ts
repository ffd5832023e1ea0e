import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { UserError } from "../../../kernel/index.ts";
import { NOON, MINUTE, HOUR, DAY, controlledAgent, until, mail, openOn, stateOf, settleDown } from "./queue.testing.ts";
import type { DeliveryFailure } from "./result-recorder.ts";

/** Tests the delivery attempts of queued messages and their results on every database engine. */
export function attemptsConformance(engine: TestEngine): void {
  const open = openOn(engine);

  describe("a queued message", () => {
    test("is sent to each domain in one transaction for all its recipients", async (t) => {
      const { start } = await open(t);
      const { agent, nth, deliveries } = controlledAgent();
      const service = await start(agent);
      const everyone = [
        ...Array.from({ length: 30 }, (_, n) => `b${n}@one.example`),
        "c@two.example",
        "b1@one.example",
      ];
      const { id } = await service.enqueue(mail(everyone));
      await nth(2);
      assert.deepEqual(deliveries.map(({ domain, parcel }) => [domain, parcel.to.length]).sort(), [
        ["one.example", 30],
        ["two.example", 1],
      ]);
      for (const delivery of deliveries) delivery.end();
      await until(async () => (await service.get(id!))!.message.finishedAt !== undefined);
      assert.equal(deliveries.length, 2);
    });

    test("is retried after 1, 5 and 15 minutes, 1, 2 and 4 hours, then every 4 hours, and fails after 5 days", async (t) => {
      const { start, clock, failures, events, bodies } = await open(t);
      const { agent, deliveries } = controlledAgent({ answer: ({ end }) => end("temporary") });
      const service = await start(agent);
      const { id } = await service.enqueue(mail(["b@there.example"]));
      const waits: number[] = [];
      for (let n = 1; n <= 8; n++) {
        await until(async () => deliveries.length === n && (await stateOf(service, id!)) === "deferred");
        const nextTry = (await service.get(id!))!.recipients[0]!.nextTry!;
        waits.push((nextTry.getTime() - clock.now()) / MINUTE);
        clock.advance(nextTry.getTime() - clock.now() - 1);
        await settleDown();
        assert.equal(deliveries.length, n, "not before the scheduled time");
        clock.advance(1000);
      }
      for (const [i, wanted] of [1, 5, 15, 60, 120, 240, 240, 240].entries())
        assert.ok(waits[i]! >= wanted && waits[i]! <= wanted * 1.1, `${waits[i]} minutes after attempt ${i + 1}`);
      let last = 0;
      while ((await stateOf(service, id!)) !== "expired") {
        await until(async () => {
          // Lets the runner check again, even if the database was slow when the clock advanced.
          clock.advance(100);
          const state = await stateOf(service, id!);
          return state === "expired" || (deliveries.length > last && state !== "delivering");
        });
        last = deliveries.length;
        clock.advance(4.5 * HOUR);
        await settleDown();
      }
      const found = (await service.get(id!))!;
      assert.ok(found.recipients[0]!.finishedAt!.getTime() - NOON >= 5 * DAY);
      assert.ok(found.recipients[0]!.finishedAt!.getTime() - NOON < 5 * DAY + 5 * HOUR);
      // Attempts every four hours plus up to a tenth, checked every four and a half hours.
      assert.ok(last >= 28 && last < 45, `${last} attempts`);
      await until(() => failures.length === 1);
      assert.deepEqual(
        failures[0]!.recipients.map(({ rcpt, state, reply }) => `${rcpt} ${state} ${reply.code} ${reply.text}`),
        ["b@there.example expired 450 later"],
      );
      assert.equal(events.at(-1)!.step, "bounced");
      assert.equal((await bodies()).length, 1, "the body is kept for some time");
    });

    test("has a separate result for every recipient, and reports each failure once, while the content is still available", async (t) => {
      const { start, failures, clock } = await open(t);
      const { agent, nth, deliveries } = controlledAgent();
      const service = await start(agent);
      const { id } = await service.enqueue(mail(["yes@there.example", "no@there.example", "later@there.example"]));
      (await nth(1)).end((rcpt) =>
        rcpt.startsWith("yes") ? "delivered" : rcpt.startsWith("no") ? "permanent" : "temporary",
      );
      await until(async () => (await stateOf(service, id!)) === "deferred,delivered,failed");
      await until(() => failures.length === 1);
      const [failure] = failures as [DeliveryFailure];
      assert.deepEqual(
        failure.recipients.map(({ rcpt, state, reply }) => [rcpt, state, reply.code]),
        [["no@there.example", "failed", 550]],
      );
      assert.equal((await failure.open())!.toString(), "Subject: x\r\n\r\nhello\r\n");
      clock.advance(2 * MINUTE);
      const again = await nth(2);
      assert.deepEqual(
        again.parcel.to.map(({ rcpt }) => rcpt),
        ["later@there.example"],
      );
      again.end();
      await until(async () => (await service.get(id!))!.message.finishedAt !== undefined);
      clock.advance(10 * MINUTE);
      await settleDown();
      assert.deepEqual([failures.length, deliveries.length], [1, 2]);
    });

    test("is reported again if the report of its failure failed", async (t) => {
      const { start, clock } = await open(t);
      const { agent } = controlledAgent({ answer: ({ end }) => end("permanent") });
      let calls = 0;
      const service = await start(agent);
      service.onFailed(() => {
        if (++calls < 3) throw new Error("no room for it");
      });
      await service.enqueue(mail(["b@there.example"]));
      for (let n = 1; n <= 3; n++) {
        await until(() => calls === n);
        await settleDown();
        clock.advance(6 * MINUTE);
      }
      clock.advance(HOUR);
      await settleDown();
      assert.equal(calls, 3);
    });

    test("stays visible after it failed, and can be resent until its content is deleted", async (t) => {
      const { start, clock, bodies, events } = await open(t);
      const { agent, nth } = controlledAgent();
      const service = await start(agent);
      const { id } = await service.enqueue(mail(["b@there.example"]));
      (await nth(1)).end("permanent");
      await until(async () => (await service.get(id!))!.message.finishedAt !== undefined);
      clock.advance(HOUR);
      await service.resend(id!);
      assert.partialDeepStrictEqual(
        events.findLast(({ step }) => step === "queued"),
        { rcpt: "b@there.example", detail: { outbound: id, resent: true } },
      );
      (await nth(2)).end("permanent");
      await until(async () => (await service.get(id!))!.message.finishedAt !== undefined);
      clock.advance(8 * DAY);
      await until(async () => (await bodies()).length === 0);
      await assert.rejects(service.resend(id!), (err) => err instanceof UserError && err.kind === "outboundGone");
      await assert.rejects(
        service.resend("none"),
        (err) => err instanceof UserError && err.kind === "outboundNotFound",
      );
      assert.equal(await stateOf(service, id!), "failed");
      clock.advance(40 * DAY);
      await until(async () => (await service.get(id!)) === undefined);
    });

    test("can be cancelled while it is queued", async (t) => {
      const { start, events, bodies, clock } = await open(t);
      const { agent, deliveries } = controlledAgent();
      const service = await start(agent, { run: false });
      const { id } = await service.enqueue(mail(["b@there.example", "c@else.example"]));
      assert.deepEqual((await service.cancel(id!)).sort(), ["b@there.example", "c@else.example"]);
      assert.equal(await stateOf(service, id!), "failed,failed");
      service.start();
      await settleDown();
      assert.equal(deliveries.length, 0);
      assert.equal(events.filter(({ step }) => step === "bounced").length, 2);
      await assert.rejects(
        service.cancel("none"),
        (err) => err instanceof UserError && err.kind === "outboundNotFound",
      );
      clock.advance(8 * DAY);
      await until(async () => (await bodies()).length === 0);
    });
  });
}
