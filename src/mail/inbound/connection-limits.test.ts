import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createManualClock } from "../../kernel/index.ts";
import { addressSet } from "../address-set.ts";
import { createRate } from "./rate.ts";
import { createConnectionLimits, type ConnectionSlot } from "./connection-limits.ts";

function newLimits({ slots = 4, perNetwork = 3, minIdleMs = 1000 } = {}) {
  const clock = createManualClock();
  const limits = createConnectionLimits({ slots, perNetwork, minIdleMs, clock });
  const evicted: string[] = [];
  function enter(ip: string, name = ip, { idle = true } = {}) {
    const place = limits.acquire(ip, { isIdle: () => idle, evict: () => void evicted.push(name) });
    return place as ConnectionSlot;
  }
  return { clock, limits, enter, evicted };
}

test("limits the connections of a network, and does not count closed ones", () => {
  const { limits, enter } = newLimits();
  const first = enter("192.0.2.1");
  enter("192.0.2.1");
  enter("192.0.2.1");
  assert.equal(enter("192.0.2.1"), "network");
  first.release();
  first.release();
  assert.equal(typeof enter("192.0.2.1"), "object");
  assert.equal(limits.used, 3);
  enter("2001:db8::1");
  assert.equal(limits.used, 4);
});

test("replaces the longest idle connection of the network with the most connections", () => {
  const { clock, enter, evicted } = newLimits();
  const [oldest] = [enter("192.0.2.1", "a"), enter("192.0.2.1", "b"), enter("192.0.2.1", "c"), enter("192.0.2.2", "d")];
  oldest.active();
  assert.equal(typeof enter("192.0.2.3"), "object");
  assert.deepEqual(evicted, ["b"]);
  // The networks now have 2, 1 and 1 connections: a client from a network without a slot replaces one of the two; a
  // client from a network that has a slot must wait.
  assert.equal(typeof enter("192.0.2.4"), "object");
  assert.deepEqual(evicted, ["b", "c"]);
  assert.equal(enter("192.0.2.5"), "full");
  clock.advance(1000);
  assert.equal(typeof enter("192.0.2.5"), "object");
  assert.deepEqual(evicted, ["b", "c", "d"]);
});

test("never replaces a connection that is busy", () => {
  const { clock, enter, evicted } = newLimits({ slots: 2 });
  enter("192.0.2.1", "a", { idle: false });
  enter("192.0.2.1", "b", { idle: false });
  clock.advance(60_000);
  assert.equal(enter("192.0.2.2"), "full");
  assert.deepEqual(evicted, []);
});

test("enforces its limits in any sequence of events", () => {
  const step = fc.record({
    what: fc.constantFrom("enter", "leave", "active", "advance"),
    who: fc.nat(5),
    busy: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const { clock, limits } = newLimits({ slots: 5, perNetwork: 2, minIdleMs: 3 });
      const inside: { key: string; place: ConnectionSlot }[] = [];
      for (const { what, who, busy } of steps) {
        const one = inside[who % Math.max(inside.length, 1)];
        if (what === "advance") clock.advance(1);
        else if (what === "active") one?.place.active();
        else if (what === "leave" && one !== undefined) {
          one.place.release();
          inside.splice(inside.indexOf(one), 1);
        } else if (what === "enter") {
          const key = `192.0.2.${who}`;
          const member = { key, place: undefined as unknown as ConnectionSlot };
          const place = limits.acquire(key, {
            isIdle: () => !busy,
            evict: () => void inside.splice(inside.indexOf(member), 1),
          });
          if (typeof place === "object") inside.push(Object.assign(member, { place }));
        }
        assert.equal(limits.used, inside.length);
        assert.ok(inside.length <= 5);
        for (const { key } of inside) assert.ok(inside.filter((other) => other.key === key).length <= 2);
      }
    }),
  );
});

test("a rate allows a burst, then the same number per interval, for a limited number of keys", () => {
  const clock = createManualClock();
  const rate = createRate({ limit: 3, perMs: 60_000, clock, keys: 2 });
  assert.deepEqual(
    Array.from({ length: 5 }, () => rate.consume("a")),
    [true, true, true, false, false],
  );
  assert.equal(rate.isExhausted("a"), true);
  assert.equal(rate.isExhausted("b"), false);
  clock.advance(20_000);
  assert.deepEqual([rate.consume("a"), rate.consume("a")], [true, false]);
  rate.consume("b");
  rate.consume("c");
  assert.equal(rate.consume("a"), true, "the entry that was idle longest is evicted");
  assert.equal(createRate({ limit: 0, perMs: 1, clock }).consume("a"), true);
});

test("accepts addresses and ranges, and rejects other values with an error that names the setting", () => {
  assert.equal(addressSet(["192.0.2.0/24"], "smtp.proxies")("192.0.2.200"), true);
  for (const range of ["10.0.0.0/33", "proxy.example", "10.0.0.5/", "::/129", ""]) {
    assert.throws(
      () => addressSet([range], "smtp.proxies"),
      (err: Error) => err.message === `smtp.proxies: ${range} is neither an IP address nor a range`,
    );
  }
});
