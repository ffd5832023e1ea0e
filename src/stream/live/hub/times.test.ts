import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import type { MediaPacket } from "../packets.ts";
import { videoPacket, audioPacket } from "./hub.testing.ts";
import { createTimestampNormalizer } from "./times.ts";

const BOTH = { video: true, audio: true };

/**
 * Returns the normalized packets in short form: "|va" for the beginning of a run with these tracks, then "v40" or
 * "a21". Dropped: "-".
 */
function placed(packets: readonly MediaPacket[], kinds = BOTH): string {
  const times = createTimestampNormalizer(kinds);
  return packets
    .map((packet) => {
      const at = times.normalize(packet);
      if (at === undefined) return "-";
      const begins =
        at.startsRun === undefined ? "" : `|${at.startsRun.video ? "v" : ""}${at.startsRun.audio ? "a" : ""} `;
      return `${begins}${packet.kind === "video" ? "v" : "a"}${at.packet.dts / 1000}${at.packet.pts === at.packet.dts ? "" : `+${(at.packet.pts - at.packet.dts) / 1000}`}`;
    })
    .join(" ");
}

/** Returns packets of one track, one every `step` ms starting at `from`. */
const pictures = (from: number, to: number, step: number, keyEach = 2000) =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, i) =>
    videoPacket(from + i * step, { key: (i * step) % keyEach === 0 }),
  );
const sounds = (from: number, to: number, step: number) =>
  Array.from({ length: Math.ceil((to - from) / step) }, (_, i) => audioPacket(from + i * step));
const mixed = (...tracks: MediaPacket[][]) => tracks.flat().toSorted((a, b) => a.dts - b.dts);

test("a timeline begins with a key frame at zero; earlier packets are dropped", () => {
  assert.equal(
    placed([
      audioPacket(5000),
      videoPacket(5010),
      videoPacket(5050, { key: true, delay: 80 }),
      audioPacket(5040),
      audioPacket(5061),
      videoPacket(5090, { delay: 40 }),
    ]),
    "- - |va v0+80 - a11 v40+40",
  );
  assert.equal(placed([audioPacket(7000), audioPacket(7021)], { video: false, audio: true }), "|a a0 a21");
});

test("a step of more than two seconds back, or ten seconds forward, causes a discontinuity at the next key frame", () => {
  assert.equal(
    placed([
      videoPacket(9000, { key: true }),
      audioPacket(9010),
      videoPacket(100),
      videoPacket(140, { key: true }),
      audioPacket(150),
    ]),
    "|va v0 a10 - |va v0 a10",
  );
  assert.equal(
    placed([videoPacket(0, { key: true }), audioPacket(0), videoPacket(10_001, { key: true }), audioPacket(10_011)]),
    "|va v0 a0 |va v0 a10",
  );
});

test("keeps a gap of ten seconds, and smooths a small backward jump", () => {
  assert.equal(
    placed([videoPacket(0, { key: true }), audioPacket(0), videoPacket(9_990, { key: true }), audioPacket(9_995)]),
    "|va v0 a0 v9990 a9995",
  );
  assert.equal(
    placed([videoPacket(0, { key: true }), videoPacket(40), videoPacket(20), videoPacket(80)]),
    "|va v0 v40 v40 v80",
  );
  assert.equal(
    placed([videoPacket(0, { key: true }), videoPacket(5000), videoPacket(3001, { key: true }), videoPacket(5001)]),
    "|va v0 v5000 v5000 v5001",
  );
  assert.equal(
    placed([videoPacket(0, { key: true }), videoPacket(5000), videoPacket(2999, { key: true }), videoPacket(3039)]),
    "|va v0 v5000 |va v0 v40",
  );
});

test("audio with a different clock is aligned with the video", () => {
  assert.equal(
    placed([
      videoPacket(500_000, { key: true }),
      audioPacket(3),
      audioPacket(24),
      videoPacket(500_040),
      audioPacket(45),
    ]),
    "|va v0 a0 a21 v40 a42",
  );
  // The same later on; if the video jumps as well, there is a discontinuity.
  assert.equal(
    placed([
      videoPacket(0, { key: true }),
      audioPacket(0),
      videoPacket(40),
      audioPacket(50_000),
      audioPacket(50_021),
      videoPacket(80),
    ]),
    "|va v0 a0 v40 a40 a61 v80",
  );
  assert.equal(
    placed([
      videoPacket(0, { key: true }),
      audioPacket(0),
      videoPacket(40),
      audioPacket(50_000),
      videoPacket(50_000, { key: true }),
      audioPacket(50_021),
    ]),
    "|va v0 a0 v40 a40 |va v0 a21",
  );
});

test("an announced track that does not arrive is left out, and causes a discontinuity when it arrives later", () => {
  const silent = placed([...pictures(0, 8000, 500), ...mixed(pictures(8000, 12_000, 500), sounds(8001, 12_000, 500))]);
  // Five seconds without audio, then the key frame at six; audio at eight, then the key frame at ten.
  assert.match(silent, /v5500 \|v v0 v500 v1000 v1500 v2000 - v2500 - v3000 - v3500 - \|va v0 a1/);
  const dark = placed([
    ...sounds(0, 11_000, 500),
    ...mixed(pictures(11_000, 12_000, 500), sounds(11_001, 12_000, 500)),
  ]);
  assert.match(dark, /^(- ){21}\|a a0 \|va v0 a1 v500 a501$/);
});

test("arbitrary packets produce timelines that start at zero, with non-decreasing times per track and no frame presented before it is decoded", () => {
  const packet = fc.record({
    kind: fc.constantFrom("video" as const, "audio" as const),
    key: fc.boolean(),
    pts: fc.oneof(fc.integer({ min: -20_000, max: 60_000 }), fc.constant(NaN)),
    dts: fc.oneof(fc.integer({ min: -20_000, max: 60_000 }), fc.integer(), fc.constant(Infinity)),
  });
  fc.assert(
    fc.property(fc.array(packet, { maxLength: 60 }), fc.boolean(), fc.boolean(), (packets, video, audio) => {
      const times = createTimestampNormalizer({ video, audio });
      let last: { video: number; audio: number } | undefined;
      for (const { kind, key, dts, pts } of packets) {
        if (kind === "video" ? !video : !audio) continue;
        const at = times.normalize({
          kind,
          key: key || kind === "audio",
          dts: dts * 1000,
          pts: pts * 1000,
          data: Buffer.alloc(1),
        });
        if (at === undefined) continue;
        if (at.startsRun !== undefined) {
          assert.equal(at.packet.dts, 0);
          assert.equal(at.packet.key, true);
          assert.ok(at.startsRun[kind]);
          last = { video: 0, audio: 0 };
        }
        assert.ok(last !== undefined && at.packet.dts >= last[kind] && at.packet.pts >= at.packet.dts);
        last[kind] = at.packet.dts;
      }
    }),
  );
});
