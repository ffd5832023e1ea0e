import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { needsFfmpeg, runFfmpeg } from "../../../test/support/media.ts";
import { H264Error, splitAnnexB } from "../h264/index.ts";
import { HEVC_NAL, hevcNalType, isHevcKey, readHevcConfig, readHevcSps, writeHevcConfig } from "./index.ts";

async function encoded(size: string, ...options: string[]): Promise<Buffer[]> {
  return splitAnnexB(
    await runFfmpeg([
      "-f",
      "lavfi",
      "-i",
      `testsrc2=size=${size}:rate=25:duration=0.2`,
      "-c:v",
      "libx265",
      "-preset",
      "ultrafast",
      "-x265-params",
      "log-level=none",
      ...options,
      "-f",
      "hevc",
      "-",
    ]),
  );
}
const sets = (nals: readonly Buffer[], type: number) => nals.filter((nal) => hevcNalType(nal) === type);

test("parameter sets yield the frame size and the same record as ffmpeg", needsFfmpeg, async () => {
  for (const [size, options, expected] of [
    ["320x180", ["-pix_fmt", "yuv420p"], { width: 320, height: 180, chroma: 1, lumaBits: 8, chromaBits: 8 }],
    ["322x182", ["-pix_fmt", "yuv420p10le"], { width: 322, height: 182, chroma: 1, lumaBits: 10, chromaBits: 10 }],
    ["322x182", ["-pix_fmt", "yuv444p"], { width: 322, height: 182, chroma: 3, lumaBits: 8, chromaBits: 8 }],
  ] as const) {
    const nals = await encoded(size, ...options);
    const [vps, sps, pps] = [sets(nals, HEVC_NAL.vps), sets(nals, HEVC_NAL.sps), sets(nals, HEVC_NAL.pps)];
    const { width, height, chroma, lumaBits, chromaBits } = readHevcSps(sps[0]!);
    assert.deepEqual({ width, height, chroma, lumaBits, chromaBits }, expected);
    const record = writeHevcConfig(vps, sps, pps);
    assert.deepEqual(readHevcConfig(record), [...vps, ...sps, ...pps]);
    const mp4 = await runFfmpeg([
      "-f",
      "lavfi",
      "-i",
      `testsrc2=size=${size}:rate=25:duration=0.2`,
      "-c:v",
      "libx265",
      "-preset",
      "ultrafast",
      "-x265-params",
      "log-level=none",
      ...options,
      "-f",
      "mp4",
      "-movflags",
      "empty_moov+frag_keyframe",
      "-",
    ]);
    const at = mp4.indexOf("hvcC", 0, "latin1") + 4;
    const theirs = mp4.subarray(at, at + mp4.readUInt32BE(at - 8) - 8);
    // Compares version, profile, tier, level, chroma format and bit depths. ffmpeg's record also contains the SEI of
    // x265.
    assert.deepEqual(record.subarray(0, 13), theirs.subarray(0, 13));
    assert.deepEqual(record.subarray(16, 19), theirs.subarray(16, 19));
    assert.ok(nals.some((nal) => isHevcKey(hevcNalType(nal))));
  }
});

test("truncated or modified data is rejected or yields other values", needsFfmpeg, async () => {
  const nals = await encoded("320x180");
  const [sps] = sets(nals, HEVC_NAL.sps);
  const record = writeHevcConfig(sets(nals, HEVC_NAL.vps), [sps!], sets(nals, HEVC_NAL.pps));
  fc.assert(
    fc.property(
      fc.nat(sps!.length),
      fc.nat(record.length - 1),
      fc.array(fc.tuple(fc.nat(1000), fc.nat(255)), { maxLength: 4 }),
      (end, until, changes) => {
        for (const [bytes, read] of [
          [Buffer.from(sps!.subarray(0, end)), readHevcSps],
          [Buffer.from(record.subarray(0, until)), readHevcConfig],
        ] as const) {
          for (const [at, octet] of changes) if (at < bytes.length) bytes[at] = octet;
          try {
            read(bytes);
          } catch (err) {
            assert.ok(err instanceof H264Error, String(err));
          }
        }
      },
    ),
  );
});
