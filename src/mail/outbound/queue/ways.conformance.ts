import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { controlledAgent, until, mail, openOn } from "./queue.testing.ts";

/** Tests the three ways to submit a message: relay, queue, or relay then queue. */
export function waysConformance(engine: TestEngine): void {
  const open = openOn(engine);

  describe("the ways to submit a message", () => {
    test("relay returns the reply of the next hop and stores nothing", async (t) => {
      const { start, bodies, events } = await open(t);
      const { agent } = controlledAgent({
        answer: ({ end }) =>
          end((rcpt) => (rcpt.startsWith("yes") ? "delivered" : rcpt.startsWith("no") ? "permanent" : "temporary")),
      });
      const service = await start(agent);
      const settled = await service.relay.deliver(
        mail(["yes@there.example", "no@there.example", "later@else.example", "YES@There.example", "nonsense"]),
      );
      assert.deepEqual(
        settled.map((one) => (one.ok ? "ok" : `${one.temporary} ${one.reply.code} ${one.reply.enhanced}`)),
        ["ok", "false 550 5.1.1", "true 450 4.2.1", "true 450 4.2.1", "false 553 5.1.3"],
      );
      assert.deepEqual([(await bodies()).length, (await service.list({})).items.length], [0, 0]);
      assert.deepEqual(events.map(({ step }) => step).sort(), [
        "bounced",
        "bounced",
        "deferred",
        "deferred",
        "delivered",
      ]);
    });

    test("relay has a timeout and a concurrency limit", async (t) => {
      const { start } = await open(t);
      const { agent, deliveries } = controlledAgent();
      const service = await start(agent, { limits: { relayMs: 1000, maxConcurrentRelays: 1 } });
      const [slow, busy] = await Promise.all([
        service.relay.deliver(mail(["b@there.example"])),
        service.relay.deliver(mail(["b@there.example"])),
      ]);
      assert.deepEqual(
        [slow, busy].map(([one]) => !one!.ok && [one!.temporary, one!.reply.code]),
        [
          [true, 450],
          [true, 451],
        ],
      );
      assert.equal(deliveries.length, 1);
    });

    test("relay with queueing queues deferred recipients and rejects permanently failed ones", async (t) => {
      const { start, clock } = await open(t);
      const { agent, deliveries } = controlledAgent({
        answer: ({ end }) =>
          end((rcpt) => (rcpt.startsWith("yes") ? "delivered" : rcpt.startsWith("no") ? "permanent" : "temporary")),
      });
      const service = await start(agent);
      const settled = await service.relayThenQueue.deliver(
        mail(["yes@there.example", "no@there.example", "later@there.example"]),
      );
      assert.deepEqual(
        settled.map((one) => (one.ok ? "ok" : one.reply.code)),
        ["ok", 550, "ok"],
      );
      const [queued] = (await service.list({})).items;
      assert.deepEqual(
        [queued!.rcpt, queued!.state, queued!.reply!.text, queued!.attempts],
        ["later@there.example", "deferred", "later", 1],
      );
      clock.advance(70_000);
      await until(() => deliveries.length === 2);
      assert.deepEqual(
        deliveries[1]!.parcel.to.map(({ rcpt }) => rcpt),
        ["later@there.example"],
      );
    });
  });
}
