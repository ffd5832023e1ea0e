import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { clip, needsFfmpeg, runFfmpeg } from "../../../../test/support/media.ts";
import { readVideoConfig } from "./video-config.ts";

test("rejects a truncated hvcC", () => {
  const head = Buffer.alloc(23);
  // Two-octet lengths, and one array.
  head.set([0xfd, 1], 21);
  const whole = Buffer.concat([head, Buffer.from([0xa1, 0, 2, 0, 3, 1, 2, 3, 0, 1, 4])]);
  assert.deepEqual([readVideoConfig("hevc", whole)?.lengthSize, readVideoConfig("hevc", whole)?.config[21]], [2, 0xff]);
  for (let size = 0; size < whole.length; size++)
    assert.equal(readVideoConfig("hevc", whole.subarray(0, size)), undefined, `${size} octets`);
});

/** Resolves with the decoder configuration record that ffmpeg writes. */
async function recordOf(size: `${number}x${number}`, box: string, video: string[]): Promise<Buffer> {
  const bytes = await runFfmpeg([
    "-i",
    await clip({ size, seconds: 1, video, audio: false }),
    "-c",
    "copy",
    "-movflags",
    "empty_moov+frag_keyframe",
    "-f",
    "mp4",
    "-",
  ]);
  const at = bytes.indexOf(box, 0, "latin1");
  return bytes.subarray(at + 4, at - 4 + bytes.readUInt32BE(at - 4));
}
const X265 = ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none", "-tag:v", "hvc1"];
const RECORDS = [
  ["hevc", "hvcC", "322x182", [...X265, "-pix_fmt", "yuv420p"]],
  ["hevc", "hvcC", "640x360", [...X265, "-pix_fmt", "yuv420p10le"]],
  ["av1", "av1C", "322x182", ["-c:v", "libsvtav1", "-preset", "10", "-pix_fmt", "yuv420p"]],
  ["av1", "av1C", "640x360", ["-c:v", "libaom-av1", "-cpu-used", "8", "-usage", "realtime", "-pix_fmt", "yuv420p"]],
] as const;

test("reads the frame size of HEVC and AV1 from the parameter sets and sequence header", needsFfmpeg, async () => {
  for (const [codec, box, size, options] of RECORDS) {
    const { width, height } = readVideoConfig(codec, await recordOf(size, box, [...options]))!;
    assert.equal(`${width}x${height}`, size, `${codec} ${options.join(" ")}`);
  }
});

/** Bit fields as in the tables of the specification: "5:31" is 31 in five bits. */
function bitsOf(fields: string): Buffer {
  const text = fields
    .split(" ")
    .map((field) => {
      const [length, value] = field.split(":").map(Number);
      return value!.toString(2).padStart(length!, "0");
    })
    .join("");
  return Buffer.from(
    (text.padEnd(Math.ceil(text.length / 8) * 8, "0").match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)),
  );
}
const av1C = (...obus: Buffer[]) => Buffer.concat([Buffer.from([0x81, 0, 0, 0]), ...obus]);
/** Returns an OBU with a size field. */
const obu = (type: number, payload: Buffer) => Buffer.concat([Buffer.from([(type << 3) | 2, payload.length]), payload]);
const sizeOf = (record: Buffer) => {
  const { width, height } = readVideoConfig("av1", record)!;
  return `${width}x${height}`;
};
// Ten bits per dimension: 1023 and 575, each stored minus one.
const SIDES = "4:9 4:9 10:1022 10:574";

test("reads AV1 sequence headers with all optional fields, and those preceded by other OBUs", () => {
  const plain = bitsOf(`3:0 1:0 1:0 1:0 1:0 5:0 12:0 5:4 ${SIDES}`);
  assert.equal(sizeOf(av1C(obu(1, plain))), "1023x575");
  assert.equal(sizeOf(av1C(obu(5, Buffer.alloc(9)), obu(1, plain))), "1023x575");
  // An OBU without a size field extends to the end; with an extension, its header has a second byte.
  assert.equal(sizeOf(av1C(Buffer.from([1 << 3]), plain)), "1023x575");
  assert.equal(sizeOf(av1C(Buffer.from([(1 << 3) | 4, 0]), plain)), "1023x575");
  assert.equal(sizeOf(av1C(obu(1, bitsOf(`3:0 1:1 1:1 5:4 ${SIDES}`)))), "1023x575");
  const timing = "1:1 32:1 32:30 1:1 3:2";
  assert.equal(sizeOf(av1C(obu(1, bitsOf(`3:0 1:0 1:0 ${timing} 1:0 1:0 5:0 12:0 5:4 ${SIDES}`)))), "1023x575");
  // Two operating points, one level with a tier and one without, with 11-bit delays.
  assert.equal(
    sizeOf(
      av1C(
        obu(
          1,
          bitsOf(
            `3:0 1:0 1:0 ${timing} 1:1 5:10 32:1 5:3 5:3 1:1 5:1 12:1 5:8 1:1 1:1 11:5 11:6 1:0 1:1 4:3 12:2 5:7 1:0 1:0 ${SIDES}`,
          ),
        ),
      ),
    ),
    "1023x575",
  );
});

test("accepts AV1 with an unreadable sequence header, and reports an unknown frame size", () => {
  for (const record of [
    av1C(),
    av1C(obu(5, Buffer.alloc(3))),
    av1C(obu(1, Buffer.alloc(2))),
    av1C(Buffer.from([0x0a, 0xff, 0xff])),
  ])
    assert.equal(sizeOf(record), "0x0");
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 4, maxLength: 64 }), (bytes) => {
      const { width, height } = readVideoConfig("av1", Buffer.from(bytes))!;
      assert.ok(width >= 0 && width <= 16_384 && height >= 0 && height <= 16_384);
    }),
  );
});
