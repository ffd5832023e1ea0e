import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { needsFfmpeg, runFfmpeg } from "../../../test/support/media.ts";
import {
  H264Error,
  joinLengthPrefixed,
  NAL,
  nalType,
  readAvcConfig,
  readSps,
  splitAnnexB,
  splitLengthPrefixed,
  writeAvcConfig,
} from "./index.ts";

/** NAL units of a few frames encoded by x264 with these options. */
async function encoded(size: string, ...options: string[]): Promise<Buffer[]> {
  return splitAnnexB(
    await runFfmpeg([
      "-f",
      "lavfi",
      "-i",
      `testsrc2=size=${size}:rate=25:duration=0.4`,
      "-c:v",
      "libx264",
      "-preset",
      "ultrafast",
      ...options,
      "-f",
      "h264",
      "-",
    ]),
  );
}
const sets = (nals: readonly Buffer[], type: number) => nals.filter((nal) => nalType(nal) === type);

describe("parameter sets from actual encoders are read", needsFfmpeg, () => {
  for (const [size, options, expected] of [
    [
      "320x180",
      ["-pix_fmt", "yuv420p", "-profile:v", "baseline"],
      { profile: 66, width: 320, height: 180, reordered: 0 },
    ],
    [
      "1920x1080",
      ["-pix_fmt", "yuv420p", "-preset", "veryfast", "-bf", "2", "-b_strategy", "0"],
      { profile: 100, width: 1920, height: 1080, reordered: 2 },
    ],
    [
      "322x182",
      ["-pix_fmt", "yuv420p", "-preset", "veryfast", "-profile:v", "main", "-bf", "0"],
      { profile: 77, width: 322, height: 182, reordered: 0 },
    ],
    [
      "320x180",
      [
        "-pix_fmt",
        "yuv420p",
        "-flags",
        "+ildct+ilme",
        "-x264-params",
        "tff=1:nal-hrd=cbr:bitrate=500:vbv-maxrate=500:vbv-bufsize=500:cqm=jvt",
      ],
      { width: 320, height: 180 },
    ],
    ["322x182", ["-pix_fmt", "yuv444p"], { profile: 244, width: 322, height: 182 }],
    ["322x182", ["-pix_fmt", "yuv422p10le"], { profile: 122, width: 322, height: 182 }],
    ["318x182", ["-pix_fmt", "gray"], { profile: 100, width: 318, height: 182 }],
  ] as const) {
    test(`${size} with ${options.join(" ")}`, async () => {
      const [sps] = sets(await encoded(size, ...options), NAL.sps);
      const read = readSps(sps!);
      assert.deepEqual({ ...read, ...expected }, read);
    });
  }

  test("a configuration record is read back as written, and joined NAL units are split again", async () => {
    const nals = await encoded("320x180", "-pix_fmt", "yuv420p");
    const [sps, pps] = [sets(nals, NAL.sps), sets(nals, NAL.pps)];
    const record = writeAvcConfig(sps, pps);
    assert.deepEqual(readAvcConfig(record), { sps, pps, lengthSize: 4 });
    assert.equal(record.toString("hex", 0, 4), `01${sps[0]!.toString("hex", 1, 4)}`);
    assert.deepEqual(splitLengthPrefixed(joinLengthPrefixed(nals)), nals);
  });

  test("a truncated or modified parameter set is rejected with H264Error or yields other values, and never causes a hang", async () => {
    const [sps] = sets(await encoded("320x180", "-pix_fmt", "yuv420p"), NAL.sps);
    fc.assert(
      fc.property(
        fc.nat(sps!.length),
        fc.array(fc.tuple(fc.nat(sps!.length - 1), fc.nat(255)), { maxLength: 4 }),
        (end, changes) => {
          const broken = Buffer.from(sps!);
          for (const [at, octet] of changes) broken[at] = octet;
          try {
            const { width, height } = readSps(broken.subarray(0, end));
            assert.ok(width > 0 && height > 0);
          } catch (err) {
            assert.ok(err instanceof H264Error, String(err));
          }
        },
      ),
    );
  });
});

test("a truncated NAL unit with a length prefix is dropped", () => {
  const joined = joinLengthPrefixed([Buffer.from([5, 1, 2]), Buffer.from([1, 9])]);
  assert.deepEqual(splitLengthPrefixed(joined.subarray(0, -1)), [Buffer.from([5, 1, 2])]);
  assert.deepEqual(splitLengthPrefixed(Buffer.from([0, 0, 0, 0, 0, 0, 0, 1, 9])), [Buffer.from([9])]);
});

test("start codes of three and four octets separate NAL units of a byte stream", () => {
  assert.deepEqual(splitAnnexB(Buffer.from([0, 0, 0, 1, 9, 16, 0, 0, 0, 1, 7, 1, 0, 0, 1, 8, 2, 0, 0])), [
    Buffer.from([9, 16]),
    Buffer.from([7, 1]),
    Buffer.from([8, 2]),
  ]);
  assert.deepEqual(splitAnnexB(Buffer.from([1, 2, 3])), []);
});

test("a record truncated anywhere is rejected", () => {
  const record = Buffer.from("0142c01effe1000467 42c01e01000368ce3c80".replaceAll(" ", ""), "hex");
  for (let end = 0; end < record.length - 1; end++)
    assert.throws(() => readAvcConfig(record.subarray(0, end)), H264Error);
});
