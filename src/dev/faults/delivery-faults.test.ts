import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createManualClock } from "../../kernel/index.ts";
import type { Outbound, Transport } from "../../mail/index.ts";
import type { DevEvent } from "../events.ts";
import { createChaos } from "./chaos.ts";
import type { DeliveryFault } from "./delivery-fault.ts";
import { createDeliveryFaults } from "./delivery-faults.ts";

const RETRY = { kind: "reply", reply: { code: 451, enhanced: "4.7.1", text: "later" } } as const;

function setUp(options: { chaos?: { next(): DeliveryFault | undefined } } = {}) {
  const delivered: string[][] = [];
  const events: DevEvent[] = [];
  const clock = createManualClock();
  const transport: Transport = {
    async deliver({ to }) {
      delivered.push(to);
      return to.map((rcpt) => ({ rcpt, ok: true }));
    },
  };
  const faults = createDeliveryFaults({ clock, report: (event) => events.push(event), ...options });
  const deliver = async (...to: string[]) => {
    const mail: Outbound = { messageId: "<1@example.com>", cause: "send", from: "a@example.com", to, raw: Buffer.of };
    const results = await faults.intercept(transport).deliver(mail);
    return results.map((result) => (result.ok ? "ok" : `${result.reply.code} ${result.reply.enhanced}`));
  };
  return { faults, deliver, delivered, events, clock };
}

test("a next hop replies with the code in the local part of the destination; other recipients receive the message", async () => {
  const { deliver, delivered, events } = setUp();
  assert.deepEqual(await deliver("550@x.example", "ada@x.example", "451+tag@x.example", "drop@x.example"), [
    "550 5.0.0",
    "ok",
    "451 4.0.0",
    "451 4.4.2",
  ]);
  assert.deepEqual(delivered, [["ada@x.example"]]);
  assert.equal(events.length, 3);
  assert.match(JSON.stringify(events[0]), /Simulated next hop for 550@x\.example: 550 5\.0\.0/);
});

test("timeout@ waits for ten seconds, then fails temporarily", async () => {
  const { deliver, delivered, clock } = setUp();
  const result = deliver("Timeout@x.example");
  clock.advance(10_000);
  assert.deepEqual(await result, ["451 4.4.2"]);
  assert.deepEqual(delivered, []);
});

test("ordinary local parts cause no fault", async () => {
  const { deliver } = setUp();
  for (const address of ["250@x.example", "5500@x.example", "timeouts@x.example", "a550@x.example", "560@x.example"])
    assert.deepEqual(await deliver(address), ["ok"], address);
});

test("a rule applies to matching addresses the given number of times, or until it is cleared", async () => {
  const { faults, deliver } = setUp();
  faults.add({ fault: RETRY, to: "*@Slow.example", times: 1 });
  faults.add({ fault: { kind: "drop" }, to: "a*c@x.example" });
  assert.deepEqual(await deliver("one@slow.example", "two@slow.example"), ["451 4.7.1", "ok"]);
  assert.deepEqual(await deliver("abc@x.example", "ab@x.example"), ["451 4.4.2", "ok"]);
  faults.clear();
  assert.deepEqual(await deliver("abc@x.example"), ["ok"]);
});

test("a delayed message is delivered after the delay", async () => {
  const { faults, deliver, delivered, clock } = setUp();
  faults.add({ fault: { kind: "delay", ms: 500 } });
  const result = deliver("ada@x.example");
  clock.advance(499);
  assert.deepEqual(delivered, []);
  clock.advance(1);
  assert.deepEqual(await result, ["ok"]);
});

test("a wildcard pattern matches the same addresses as the equivalent regular expression", () => {
  const parts = fc.array(fc.constantFrom("a", "b", "@", "*"), { maxLength: 8 }).map((letters) => letters.join(""));
  const address = fc.array(fc.constantFrom("a", "b", "@"), { maxLength: 8 }).map((letters) => letters.join(""));
  return fc.assert(
    fc.asyncProperty(parts, address, async (pattern, to) => {
      const { faults, deliver } = setUp();
      faults.add({ fault: RETRY, to: pattern });
      const expected = new RegExp(`^${pattern.replaceAll("*", ".*")}$`).test(to);
      assert.deepEqual(await deliver(to), [expected ? "451 4.7.1" : "ok"]);
    }),
  );
});

test("chaos affects the given share of the recipients, and the same seed repeats the faults", () => {
  const draw = (percent: number, seed: number) => {
    const chaos = createChaos({ percent, seed });
    return Array.from({ length: 1000 }, () => chaos.next());
  };
  assert.deepEqual(draw(30, 7), draw(30, 7));
  assert.notDeepEqual(draw(30, 7), draw(30, 8));
  const count = draw(30, 7).filter((fault) => fault !== undefined).length;
  assert.ok(count > 250 && count < 350, `${count} of 1000`);
  assert.ok(draw(0, 7).every((fault) => fault === undefined));
  assert.ok(draw(100, 7).every((fault) => fault !== undefined));
});
