import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createSrtConnection } from "./connection.ts";
import { CONTROL, readLosses, writeLosses } from "./packets.ts";
import { createSrtReceiver, WINDOW } from "./receiver.ts";
import { createSender } from "./sender.ts";
import { sequenceDistance, plusSequence } from "./sequence.ts";

const sequence = fc.integer({ min: 0, max: 2 ** 31 - 1 });

/** Returns a sender and a receiver, connected by a link with loss, delay and reordering. Time is simulated. */
function line(options: {
  first: number;
  latencyMs: number;
  loss: (n: number) => boolean;
  delay: (n: number) => number;
}) {
  const { first, latencyMs, loss, delay } = options;
  let now = 0;
  let n = 0;
  const underway: { at: number; arrive(): void }[] = [];
  const send = (arrive: () => void) => {
    n++;
    if (!loss(n)) underway.push({ at: now + delay(n), arrive });
  };
  const got: number[] = [];
  let lost = 0;
  let resent = 0;
  const receiver = createSrtReceiver({
    first,
    latencyMs,
    deliver: (payload) => void got.push(payload.readUInt32BE(0)),
    lost: (packets) => void (lost += packets),
    ask: (ranges) => send(() => sender.missing(readLosses(writeLosses(ranges)), now, 40)),
  });
  const sender = createSender({
    first,
    window: WINDOW,
    keepMs: latencyMs * 2,
    transmit(packet) {
      if (packet.resent) resent++;
      send(() => receiver.take(packet.sequence, packet.payload, now));
    },
    dropped: (range) => send(() => receiver.giveUp(range)),
  });
  const step = () => {
    now += 10;
    for (const packet of underway.splice(0).filter((packet) => packet.at > now || (packet.arrive(), false)))
      underway.push(packet);
    receiver.tick(now, 40);
    send(() => sender.acknowledged(receiver.expected()));
    sender.tick(now);
  };
  return {
    got,
    lost: () => lost,
    resent: () => resent,
    step,
    sender,
    receiver,
    send: (i: number) => sender.send(Buffer.from([i >>> 24, i >>> 16, i >>> 8, i]), now),
  };
}

test("lost packets are resent, and everything arrives in order", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 0, max: 99 }), { minLength: 50, maxLength: 50 }),
      fc.constantFrom(0, 2 ** 31 - 50, 123_456),
      (dice, first) => {
        const way = line({
          first,
          latencyMs: 2000,
          loss: (n) => dice[n % 50]! < 15 && n % 3 !== 0,
          delay: (n) => 10 + dice[(n * 7) % 50]! / 3,
        });
        for (let i = 0; i < 300; i++) {
          way.send(i);
          if (i % 3 === 0) way.step();
        }
        // The last packet can only be detected as missing if packets follow it.
        for (let i = 300; i < 700; i++) {
          if (i % 5 === 0) way.send(i);
          way.step();
        }
        assert.deepEqual([way.got.slice(0, 300), way.lost()], [Array.from({ length: 300 }, (_, i) => i), 0]);
      },
    ),
    { numRuns: 60 },
  );
});

test("a duplicate packet does not delay skipping the missing ones", () => {
  const got: string[] = [];
  const receiver = createSrtReceiver({
    first: 1,
    latencyMs: 100,
    deliver: (payload) => void got.push(String(payload)),
    lost: () => {},
    ask: () => {},
  });
  receiver.take(2, Buffer.from("two"), 0);
  receiver.take(2, Buffer.from("again"), 90);
  receiver.tick(100, 10);
  assert.deepEqual(got, ["two"]);
});

test("missing packets are requested immediately and then once per round trip, at least 20 ms apart", () => {
  const requested: number[] = [];
  let now = 1000;
  const receiver = createSrtReceiver({
    first: 1,
    latencyMs: 10_000,
    deliver: () => {},
    lost: () => {},
    ask: (ranges) => {
      assert.deepEqual(ranges, [[1, 1]]);
      requested.push(now);
    },
  });
  receiver.take(2, Buffer.from("two"), now);
  for (now = 1001; now <= 1100; now++) receiver.tick(now, 5);
  assert.deepEqual(requested.slice(0, 4), [1000, 1001, 1021, 1041]);
  for (now = 1101; now <= 1400; now++) receiver.tick(now, 100);
  assert.deepEqual(requested.slice(-2), [1281, 1381]);
});

test("packets that cannot be recovered are skipped after the latency, and counted", () => {
  const way = line({ first: 2 ** 31 - 3, latencyMs: 100, loss: (n) => n === 6, delay: () => 10 });
  const gone = createSrtReceiver({
    first: 10,
    latencyMs: 100,
    deliver: () => {},
    lost: (packets) => assert.equal(packets, 3),
    ask: () => {},
  });
  gone.take(13, Buffer.alloc(4), 0);
  gone.tick(99, 10);
  assert.equal(gone.expected(), 10);
  gone.tick(100, 10);
  assert.equal(gone.expected(), 14);
  for (let i = 0; i < 20; i++) {
    way.send(i);
    way.step();
  }
  assert.equal(way.lost(), 0);
});

test("the receiver never buffers more than its window", () => {
  const givenUp = fc.option(fc.tuple(fc.integer({ min: -9000, max: 100 }), fc.integer({ min: -100, max: 9000 })), {
    nil: undefined,
  });
  fc.assert(
    fc.property(
      sequence,
      fc.array(
        fc.tuple(
          fc.oneof(fc.integer({ min: -20_000, max: 20_000 }), fc.integer({ min: 1, max: 3 })),
          fc.nat(3),
          givenUp,
        ),
        { maxLength: 300 },
      ),
      (first, steps) => {
        let at = first;
        let delivered = 0;
        let lost = 0;
        const receiver = createSrtReceiver({
          first,
          latencyMs: 50,
          deliver: () => void delivered++,
          lost: (packets) => void (lost += packets),
          ask: (ranges) =>
            assert.ok(ranges.length > 0 && ranges.every(([from, to]) => sequenceDistance(from, to) >= 0)),
        });
        for (const [i, [jump, ticks, gone]] of steps.entries()) {
          at = plusSequence(at, jump);
          receiver.take(at, Buffer.alloc(1), i * 10);
          if (gone !== undefined) receiver.giveUp([plusSequence(at, gone[0]), plusSequence(at, gone[1])]);
          for (let n = 0; n < ticks; n++) receiver.tick(i * 10 + n, 20);
          assert.ok(receiver.freePackets() >= 0);
        }
        receiver.flush();
        assert.equal(receiver.freePackets(), WINDOW);
        assert.equal(sequenceDistance(first, receiver.expected()), (delivered + lost) % 2 ** 31);
      },
    ),
    { numRuns: 200 },
  );
});

test("received packets within a skipped range are delivered, regardless of how often this happens", () => {
  const got: number[] = [];
  let lost = 0;
  let octetsOut = 0;
  let now = 0;
  const connection = createSrtConnection({
    address: "192.0.2.1",
    peer: 1,
    sequence: 0,
    window: 64,
    latencyMs: 120,
    marksResent: true,
    keys: undefined,
    now: () => now,
    transmit: (bytes) => void (octetsOut += bytes.length),
    onClose: () => assert.fail("the connection was closed"),
    onError: (err) => assert.fail(String(err)),
  });
  connection.attach({
    data: (payload) => void got.push(payload.readUInt32BE(0)),
    lost: (packets) => void (lost += packets),
    ended: () => {},
  });
  for (let begin = 0; begin < 40_000; begin += 8000) {
    for (let n = begin + 1; n <= begin + 8000; n++) {
      const payload = Buffer.alloc(4);
      payload.writeUInt32BE(n);
      if (n % 8000 !== 0)
        connection.handle({
          kind: "data",
          sequence: n,
          key: "none",
          resent: false,
          message: 1,
          timestamp: 0,
          to: 1,
          payload,
        });
    }
    const body = Buffer.alloc(8);
    body.writeUInt32BE(begin, 0);
    body.writeUInt32BE(begin + 7998, 4);
    connection.handle({ kind: "control", type: CONTROL.dropRequest, subtype: 0, info: 0, timestamp: 0, to: 1, body });
    now += 10;
    connection.tick();
  }
  assert.deepEqual([got.length, lost], [5 * 7999, 5]);
  assert.ok(got.every((n, i) => i === 0 || n > got[i - 1]!));
  const before = octetsOut;
  now += 500;
  connection.tick();
  // The receiver sends only a repeated acknowledgement, not a retransmission request.
  assert.equal(octetsOut - before, 16 + 28);
});

test("arbitrary packets from a connected caller never throw an error, and the connection still closes", () => {
  const types = fc.constantFrom(...Object.values(CONTROL), 99);
  const words = fc.array(
    fc.oneof(fc.nat(2 ** 32 - 1), fc.integer({ min: 900, max: 1300 }), fc.constant(0x8000_0000 + 1000)),
    { maxLength: 360 },
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(types, fc.nat(5), words, fc.nat(3)), { maxLength: 30 }), (packets) => {
      let now = 0;
      let octetsOut = 0;
      const ends: boolean[] = [];
      const connection = createSrtConnection({
        address: "192.0.2.1",
        peer: 1,
        sequence: 1000,
        window: 64,
        latencyMs: 120,
        marksResent: true,
        keys: undefined,
        now: () => now,
        transmit: (bytes) => void (octetsOut += bytes.length),
        onClose: () => {},
        onError: (err) => assert.fail(String(err)),
      });
      connection.attach({ data: () => {}, lost: (n) => assert.ok(n > 0), ended: (clean) => void ends.push(clean) });
      for (const [type, subtype, numbers, ticks] of packets) {
        const body = Buffer.alloc(numbers.length * 4);
        for (const [i, word] of numbers.entries()) body.writeUInt32BE(word, i * 4);
        connection.send(Buffer.alloc(1316));
        connection.handle({ kind: "control", type, subtype, info: numbers[0] ?? 0, timestamp: 0, to: 1, body });
        connection.handle({
          kind: "data",
          sequence: (numbers[0] ?? 1000) % 2 ** 31,
          key: "none",
          resent: false,
          message: 1,
          timestamp: 0,
          to: 1,
          payload: body,
        });
        for (let i = 0; i < ticks; i++) {
          now += 10;
          connection.tick();
        }
      }
      now += 6000;
      connection.tick();
      assert.equal(ends.length, 1);
      const before = octetsOut;
      connection.send(Buffer.alloc(1316));
      connection.tick();
      connection.close();
      assert.equal(octetsOut, before);
    }),
    { numRuns: 150 },
  );
});
