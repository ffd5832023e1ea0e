import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { adtsHeader, type TsStream } from "../../../../protocol/mpegts/index.ts";
import type { MediaPacket } from "../../packets.ts";
import { createStreamReader } from "./stream-readers.ts";

const CONFIG = Buffer.from("1190", "hex");
const aac = (n: number) => Buffer.concat([adtsHeader(CONFIG, 300)!, Buffer.alloc(300, n & 127)]);
/** 128 kbit/s at 48,000 Hz. */
const mp3 = (n: number) => Buffer.concat([Buffer.from([0xff, 0xfb, 0x94, 0xc4]), Buffer.alloc(380, n & 127)]);

for (const [codec, frame, samples] of [
  ["aac", aac, 1024],
  ["mp3", mp3, 1152],
] as const) {
  test(`the timestamp of a PES packet is that of the first ${codec.toUpperCase()} frame that starts in it, wherever packets are split`, () => {
    const frames = Array.from({ length: 40 }, (_, n) => frame(n));
    const bytes = Buffer.concat(frames);
    const size = frames[0]!.length;
    const step = (samples * 1_000_000) / 48_000;
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.integer({ min: 1, max: 900 }), fc.nat(9000)), { minLength: 1 }), (units) => {
        const reader = createStreamReader({ pid: 1, codec, name: codec } as TsStream)!;
        const got: MediaPacket[] = [];
        const wanted: number[] = [];
        let at = 0;
        for (const [i, [length, late]] of units.entries()) {
          const begins = Math.ceil(at / size);
          // Each unit has a clock step, and the time of a unit in which no frame starts is meaningless.
          const pts = i * 100_000 + late;
          for (let n = begins; n * size < Math.min(at + length, bytes.length); n++)
            wanted.push(n === begins ? (pts * 100) / 9 : wanted.at(-1)! + step);
          const read = reader.read({
            stream: { pid: 1, codec, name: codec } as TsStream,
            pts,
            dts: pts,
            data: bytes.subarray(at, at + length),
          });
          if (read !== undefined && "packets" in read) got.push(...read.packets);
          at += length;
        }
        assert.equal(got.length, Math.floor(Math.min(at, bytes.length) / size));
        for (const [n, { pts, dts, data }] of got.entries()) {
          assert.ok(Math.abs(pts - wanted[n]!) <= 2 && dts === pts, `${n}: ${pts} instead of ${wanted[n]}`);
          assert.ok(data.equals(codec === "aac" ? frames[n]!.subarray(7) : frames[n]!));
        }
      }),
    );
  });
}
