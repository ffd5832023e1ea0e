import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import {
  FlvError,
  flvHeader,
  audioFrameHeader,
  videoFrameHeader,
  readAudio,
  readTags,
  readVideo,
  aacFormat,
  mp3Format,
  opusFormat,
  writeAudioConfig,
  writeTag,
  writeVideoConfig,
} from "./index.ts";

const octets = fc.uint8Array({ minLength: 1, maxLength: 60 }).map((bytes) => Buffer.from(bytes));

test("frames and configurations of every video codec are read back as written", () => {
  fc.assert(
    fc.property(
      fc.constantFrom("h264" as const, "hevc" as const, "av1" as const, "vp8" as const, "vp9" as const),
      fc.boolean(),
      fc.integer({ min: -0x800000, max: 0x7fffff }),
      octets,
      (codec, key, composition, data) => {
        assert.deepEqual(readVideo(writeVideoConfig(codec, data)), { kind: "config", codec, config: data });
        const shown = codec === "h264" || codec === "hevc" ? composition : 0;
        assert.deepEqual(readVideo(Buffer.concat([videoFrameHeader(codec, { key, composition }), data])), {
          kind: "picture",
          codec,
          key,
          composition: shown,
          data,
        });
      },
    ),
  );
});

test("audio of every codec is read back as written", () => {
  fc.assert(
    fc.property(fc.constantFrom("aac" as const, "opus" as const, "mp3" as const), octets, (codec, data) => {
      assert.deepEqual(readAudio(Buffer.concat([audioFrameHeader(codec), data])), { kind: "frame", codec, data });
      const config = writeAudioConfig(codec, data);
      if (codec === "mp3") assert.equal(config, undefined);
      else assert.deepEqual(readAudio(config!), { kind: "config", codec, config: data });
    }),
  );
});

test("invalid data is either read or rejected with FlvError", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 60 }),
      fc.constantFrom(readAudio, readVideo, (bytes: Buffer) => [...readTags(bytes)], aacFormat, mp3Format, opusFormat),
      (bytes, read) => {
        try {
          read(Buffer.from(bytes));
        } catch (err) {
          assert.ok(err instanceof FlvError);
        }
      },
    ),
    { numRuns: 2000 },
  );
});

const bytes = (...parts: (number | string)[]) =>
  Buffer.concat(parts.map((part) => (typeof part === "number" ? Buffer.from([part]) : Buffer.from(part, "latin1"))));
const data = Buffer.from("data");

test("reads extended headers without a composition time, with modifiers, and for the first of several tracks", () => {
  const picture = { kind: "picture", codec: "hevc", key: true, composition: 0, data };
  assert.deepEqual(readVideo(bytes(0x93, "hvc1", "data")), picture);
  // A modifier of three octets (nanoseconds), followed by the packet type.
  assert.deepEqual(readVideo(bytes(0x97, 2, 1, 2, 3, 0x03, "hvc1", "data")), picture);
  // A modifier of 256 octets, whose size does not fit into one octet.
  assert.deepEqual(readVideo(bytes(0x97, 255, 0, 255, "x".repeat(256), 0x03, "hvc1", "data")), picture);
  // A single track; several tracks with the same codec, where the first track is in second position; several tracks
  // with different codecs.
  assert.deepEqual(readVideo(bytes(0x96, 0x03, "hvc1", 0, "data")), picture);
  assert.deepEqual(readVideo(bytes(0x96, 0x13, "hvc1", 1, 0, 0, 1, "x", 0, 0, 0, 4, "data")), picture);
  assert.deepEqual(readVideo(bytes(0x96, 0x23, "av01", 1, 0, 0, 1, "x", "hvc1", 0, 0, 0, 4, "data")), picture);
  assert.deepEqual(readVideo(bytes(0x96, 0x03, "hvc1", 1, "data")), { kind: "other" });
  assert.deepEqual(readAudio(bytes(0x95, 0x01, "mp4a", 0, "data")), { kind: "frame", codec: "aac", data });
});

test("reports the names of known but unsupported codecs", () => {
  assert.deepEqual(readVideo(bytes(0x12, "x")), { kind: "unknown", codec: "Sorenson H.263" });
  assert.deepEqual(readVideo(bytes(0x91, "vvc1", "x")), { kind: "unknown", codec: "vvc1" });
  assert.deepEqual(readAudio(bytes(0xb0, "x")), { kind: "unknown", codec: "Speex" });
  assert.deepEqual(readAudio(bytes(0x91, "ac-3", "x")), { kind: "unknown", codec: "ac-3" });
  for (const nothing of [bytes(), bytes(0x17, 2, 0, 0, 0), bytes(0x57, 0), bytes(0xd1, 0)])
    assert.deepEqual(readVideo(nothing), { kind: "other" });
});

test("sample rates and channel counts of audio are read", () => {
  assert.deepEqual(aacFormat(Buffer.from([0x11, 0x90])), { sampleRate: 48_000, channels: 2 });
  assert.deepEqual(aacFormat(Buffer.from([0x12, 0x08, 0x56, 0xe5])), { sampleRate: 44_100, channels: 1 });
  // Bit fields with a 24-bit rate: 5 bits with the value 2, 4 bits with 15, 24 bits with 48,000, 4 bits with 6.
  assert.deepEqual(aacFormat(Buffer.from([0x17, 0x80, 0x5d, 0xc0, 0x30])), { sampleRate: 48_000, channels: 6 });
  assert.equal(aacFormat(Buffer.from([0x16, 0x90])), undefined);
  assert.equal(aacFormat(Buffer.from([0x11])), undefined);
  assert.deepEqual(mp3Format(Buffer.from([0xff, 0xfb, 0x94, 0xc4])), { sampleRate: 48_000, channels: 1 });
  assert.equal(mp3Format(Buffer.from("ID3x")), undefined);
  assert.deepEqual(opusFormat(Buffer.from("OpusHead\x01\x01", "latin1")), { sampleRate: 48_000, channels: 1 });
});

test("tags of a file are read, with timestamps above 2^24", () => {
  const tags = [
    { type: 9, time: 0xfedcba98, data: Buffer.from("picture") },
    { type: 8, time: 7, data: Buffer.alloc(0) },
  ];
  assert.deepEqual([...readTags(Buffer.concat(tags.map(writeTag)))], tags);
  assert.deepEqual(
    [flvHeader({ video: true, audio: true }).toString("latin1", 0, 5), flvHeader({ video: true, audio: false })[4]],
    ["FLV\x01\x05", 1],
  );
});
