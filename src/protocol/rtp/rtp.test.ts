import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import {
  createFrameAssembler,
  createReorderBuffer,
  createUnwrapper,
  opusSamples,
  packH264,
  packVp8,
  readVp8KeyFrameSize,
  type RtpPacketFields,
  unpackH264,
  unpackVp8,
} from "./index.ts";

const MOST = 1200;
const octets = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((bytes) => Buffer.from(bytes));
/** A NAL unit whose type is not specific to RTP. */
const nal = fc
  .tuple(fc.integer({ min: 1, max: 23 }), fc.nat(3), octets(1, 5000))
  .map(([type, importance, body]) => Buffer.concat([Buffer.from([(importance << 5) | type]), body]));
const part = (sequence: number, more: Partial<RtpPacketFields> = {}): RtpPacketFields => ({
  sequence,
  timestamp: 0,
  marker: false,
  payload: Buffer.from([sequence & 255]),
  ...more,
});

describe("H.264", () => {
  test("reads NAL units back unchanged, and no payload exceeds the maximum", () => {
    fc.assert(
      fc.property(fc.array(nal, { minLength: 1, maxLength: 6 }), fc.integer({ min: 60, max: MOST }), (nals, most) => {
        const payloads = packH264(nals, most);
        assert.ok(payloads.every((payload) => payload.length <= most));
        assert.deepEqual(unpackH264(payloads), { nals, whole: true });
      }),
    );
  });

  test("packs parameter sets and a small frame together (STAP-A), and fragments a large frame (FU-A)", () => {
    const [sps, pps, idr] = [
      Buffer.from([0x67, 1, 2]),
      Buffer.from([0x68, 3]),
      Buffer.concat([Buffer.from([0x65]), Buffer.alloc(3000, 7)]),
    ];
    const payloads = packH264([sps, pps, idr], MOST);
    assert.equal(payloads[0]!.toString("hex"), "78000367010200026803");
    assert.deepEqual(
      payloads.slice(1).map((payload) => [payload[0], payload[1]]),
      [
        [0x7c, 0x85],
        [0x7c, 0x05],
        [0x7c, 0x45],
      ],
    );
  });

  test("any missing fragment makes the frame incomplete", () => {
    const payloads = packH264([Buffer.concat([Buffer.from([0x65]), Buffer.alloc(5000, 7)])], MOST);
    for (const missing of [0, payloads.length - 1])
      assert.equal(unpackH264(payloads.filter((_, i) => i !== missing)).whole, false);
    assert.equal(unpackH264([]).whole, false);
  });

  test("reads any input without throwing", () => {
    fc.assert(fc.property(fc.array(octets(0, 40), { maxLength: 10 }), (payloads) => void unpackH264(payloads)));
  });
});

describe("VP8", () => {
  test("reads a frame back unchanged", () => {
    fc.assert(
      fc.property(octets(1, 6000), fc.nat(0xffff), (frame, picture) => {
        const payloads = packVp8(frame, MOST, picture);
        assert.ok(payloads.every((payload) => payload.length <= MOST));
        assert.deepEqual(unpackVp8(payloads), { frame, whole: true });
      }),
    );
  });

  test("reads descriptors as other senders write them", () => {
    const piece = Buffer.from([1, 2, 3]);
    for (const head of ["10", "908005", "908085aa", "90c0850102", "90e085010201", "90f0810102ff", "9000"]) {
      assert.deepEqual(
        unpackVp8([Buffer.concat([Buffer.from(head, "hex"), piece])]),
        { frame: piece, whole: true },
        head,
      );
    }
  });

  test("reports a frame without its beginning as incomplete, and reads any input without throwing", () => {
    const payloads = packVp8(Buffer.alloc(3000), MOST, 1);
    assert.equal(unpackVp8(payloads.slice(1)).whole, false);
    assert.equal(unpackVp8([]).whole, false);
    fc.assert(
      fc.property(fc.array(octets(0, 20), { maxLength: 8 }), (any) => void readVp8KeyFrameSize(unpackVp8(any).frame)),
    );
  });

  test("reads the size from a key frame", () => {
    const key = Buffer.from("1002009d012a8002e0010000", "hex");
    assert.deepEqual(readVp8KeyFrameSize(key), { width: 640, height: 480 });
    assert.equal(readVp8KeyFrameSize(Buffer.concat([Buffer.from([0x11]), key.subarray(1)])), undefined);
  });
});

describe("packet ordering", () => {
  test("restores the order for any arrival order, removes duplicates, and does not report packets that arrived in time as missing", () => {
    fc.assert(
      fc.property(
        fc.nat(0xffff),
        fc.array(fc.nat(8), { minLength: 1, maxLength: 60 }),
        fc.array(fc.nat(59)),
        (first, delays, twice) => {
          const sent = delays.map((delay, i) => ({
            i,
            at: i + (i === 0 ? 0 : delay),
            part: part((first + i) & 0xffff),
          }));
          const again = twice
            .filter((i) => i > 0 && i < sent.length)
            .map((i) => ({ ...sent[i]!, at: sent[i]!.at + 2 }));
          const arriving = [...sent, ...again].sort((a, b) => a.at - b.at);
          const ordering = createReorderBuffer({ waitMs: 100, maxPackets: 100 });
          const out = arriving.flatMap((one) => ordering.push(one.part, one.at));
          assert.deepEqual(
            out.map(({ sequence }) => sequence),
            sent.map((one) => one.part.sequence),
          );
          assert.ok(out.every(({ missing }) => missing === 0));
        },
      ),
    );
  });

  test("counts late packets and does not wait for them", () => {
    const ordering = createReorderBuffer({ waitMs: 50, maxPackets: 100 });
    assert.equal(ordering.push(part(1), 0).length, 1);
    assert.equal(ordering.push(part(4), 10).length, 0);
    assert.equal(ordering.push(part(5), 40).length, 0);
    assert.deepEqual(ordering.missing(), [2, 3]);
    assert.deepEqual(
      ordering.push(part(7), 70).map(({ sequence, missing }) => [sequence, missing]),
      [
        [4, 2],
        [5, 0],
      ],
    );
    assert.deepEqual(
      ordering.push(part(6), 71).map(({ sequence, missing }) => [sequence, missing]),
      [
        [6, 0],
        [7, 0],
      ],
    );
    assert.deepEqual(ordering.push(part(2), 72), []);
  });

  test("limits the number of waiting packets, and follows a restarted sender", () => {
    const ordering = createReorderBuffer({ waitMs: 1e9, maxPackets: 3 });
    ordering.push(part(1), 0);
    const out = [3, 5, 7, 9].flatMap((sequence) => ordering.push(part(sequence), 0));
    assert.deepEqual(
      out.map(({ sequence, missing }) => [sequence, missing]),
      [[3, 1]],
    );
    assert.deepEqual(
      ordering.push(part(30_000), 0).map(({ sequence }) => sequence),
      [5, 7, 9, 30_000],
    );
    assert.deepEqual(
      ordering.push(part(30_001), 0).map(({ sequence }) => sequence),
      [30_001],
    );
  });
});

describe("frames from packets", () => {
  const frames = (...parts: Partial<RtpPacketFields & { missing: number }>[]) => {
    const framing = createFrameAssembler();
    return parts.flatMap((one, i) => framing.push({ ...part(i), missing: 0, ...one }));
  };

  test("end with the marker bit, or when the timestamp changes", () => {
    const out = frames(
      { timestamp: 1 },
      { timestamp: 1, marker: true },
      { timestamp: 2 },
      { timestamp: 3, marker: true },
    );
    assert.deepEqual(
      out.map(({ timestamp, payloads, missing, whole }) => [timestamp, payloads.length, missing, whole]),
      [
        [1, 2, 0, true],
        [2, 1, 0, true],
        [3, 1, 0, true],
      ],
    );
  });

  test("report missing packets within the frame and before the next one", () => {
    const out = frames(
      { timestamp: 1 },
      { timestamp: 1, marker: true, missing: 1 },
      { timestamp: 2 },
      { timestamp: 3, marker: true, missing: 2 },
    );
    assert.deepEqual(
      out.map(({ timestamp, missing, whole }) => [timestamp, missing, whole]),
      [
        [1, 1, false],
        [2, 0, false],
        [3, 2, true],
      ],
    );
  });
});

test("exclude padding between frames, whose missing packets are reported for the next frame", () => {
  const framing = createFrameAssembler();
  const empty = { payload: Buffer.alloc(0), timestamp: 1 };
  const parts = [{ timestamp: 1, marker: true }, empty, { ...empty, missing: 1 }, { timestamp: 2, marker: true }];
  const out = parts.flatMap((one, i) => framing.push({ ...part(i), missing: 0, ...one }));
  assert.deepEqual(
    out.map(({ timestamp, payloads, missing }) => [timestamp, payloads.length, missing]),
    [
      [1, 1, 0],
      [2, 1, 1],
    ],
  );
});

test("sequence numbers continue across a wraparound in both directions", () => {
  fc.assert(
    fc.property(fc.nat(0xffff), fc.array(fc.integer({ min: -30_000, max: 30_000 })), (first, steps) => {
      const unwrap = createUnwrapper(16);
      let at = first;
      assert.equal(unwrap(first), first);
      for (const step of steps) {
        at += step;
        assert.equal(unwrap(((at % 65_536) + 65_536) % 65_536), at);
      }
    }),
  );
});

test("the duration of Opus packets is read", () => {
  for (const [head, samples] of [
    ["fc", 960],
    ["78", 960],
    ["0b03", 2880],
    ["e0", 120],
    ["fb06", 5760],
    ["fb07", 0],
    ["", 0],
  ] as const)
    assert.equal(opusSamples(Buffer.from(head, "hex")), samples, head);
});
