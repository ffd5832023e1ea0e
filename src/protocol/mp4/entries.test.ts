import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as fc from "fast-check";
import { clip, needsFfmpeg, runFfmpeg } from "../../../test/support/media.ts";
import { aacEntry, av1Entry, avcEntry, hevcEntry, Mp4Error, readAac, readAvc, writeInit } from "./index.ts";
import { readAacConfig } from "./entries.ts";
import { boxesIn } from "./boxes.ts";

/** Returns the configuration box that ffmpeg wrote into a file. */
async function recordOf(path: string, name: string): Promise<Buffer> {
  const bytes = await runFfmpeg([
    "-i",
    path,
    "-c",
    "copy",
    "-movflags",
    "empty_moov+frag_keyframe",
    "-t",
    "0.1",
    "-f",
    "mp4",
    "-",
  ]);
  const at = bytes.indexOf(name, 0, "latin1");
  return bytes.subarray(at + 4, at - 4 + bytes.readUInt32BE(at - 4));
}

/** Returns ffprobe's output for an initialization segment that contains this entry. */
async function probed(t: { after(fn: () => void): void }, entry: Buffer): Promise<Record<string, string>> {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-entries-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "init.mp4");
  const sound = entry.toString("latin1", 4, 8) === "mp4a";
  await writeFile(
    path,
    writeInit({
      id: 1,
      handler: sound ? "soun" : "vide",
      timescale: 90_000,
      width: sound ? 0 : 320,
      height: sound ? 0 : 180,
      description: entry,
    }),
  );
  return (
    JSON.parse((await runFfmpeg(["-show_streams", "-of", "json", path], "ffprobe")).toString()) as {
      streams: [Record<string, string>];
    }
  ).streams[0];
}

test("avc1 built from a configuration record equals the entry read from a file", needsFfmpeg, async (t) => {
  const record = await recordOf(await clip(), "avcC");
  const { entry, codecs } = avcEntry(record, 320, 180);
  const read = readAvc(entry)!;
  assert.deepEqual([read.codecs, read.width, read.height], [codecs, 320, 180]);
  assert.deepEqual(
    boxesIn(entry, 86, entry.length).map(({ type }) => type),
    ["avcC"],
  );
  const { codec_name, width } = await probed(t, entry);
  assert.deepEqual([codec_name, width], ["h264", 320]);
});

test("ffmpeg reads hvc1 and av01 with their RFC 6381 names", needsFfmpeg, async (t) => {
  const hevc = await clip({
    seconds: 1,
    video: [
      "-c:v",
      "libx265",
      "-preset",
      "ultrafast",
      "-x265-params",
      "log-level=none",
      "-pix_fmt",
      "yuv420p",
      "-tag:v",
      "hvc1",
    ],
    audio: false,
  });
  const ofHevc = hevcEntry(await recordOf(hevc, "hvcC"), 320, 180);
  assert.equal(ofHevc.codecs, "hvc1.1.6.L60.90");
  assert.equal((await probed(t, ofHevc.entry))["codec_name"], "hevc");
  const av1 = await clip({
    seconds: 1,
    video: ["-c:v", "libsvtav1", "-preset", "10", "-pix_fmt", "yuv420p"],
    audio: false,
  });
  const ofAv1 = av1Entry(await recordOf(av1, "av1C"), 320, 180);
  assert.match(ofAv1.codecs, /^av01\.0\.0\dM\.08$/);
  assert.equal((await probed(t, ofAv1.entry))["codec_name"], "av1");
});

test("mp4a built from an AudioSpecificConfig equals the entry read from a file", needsFfmpeg, async (t) => {
  const { entry, codecs, ...config } = aacEntry(Buffer.from("1210", "hex"));
  assert.deepEqual(
    { codecs, ...config },
    { codecs: "mp4a.40.2", kind: 2, sampleRate: 44_100, channels: 2, frame: 1024 },
  );
  assert.equal(readAac(entry)!.sampleRate, 44_100);
  const stream = await probed(t, entry);
  assert.deepEqual([stream["codec_name"], stream["sample_rate"], stream["channels"]], ["aac", "44100", 2]);
});

test("reads configurations with HE-AAC, other rates and short frames", () => {
  // 24 kHz that plays as 48 kHz; 48 kHz as an explicit rate; frames of 960 samples.
  assert.deepEqual(readAacConfig(Buffer.from("2b118800", "hex")), {
    kind: 5,
    sampleRate: 24_000,
    channels: 2,
    frame: 1024,
  });
  assert.deepEqual(readAacConfig(Buffer.from("17805dc010", "hex")), {
    kind: 2,
    sampleRate: 48_000,
    channels: 2,
    frame: 1024,
  });
  assert.equal(readAacConfig(Buffer.from("1194", "hex")).frame, 960);
});

test("truncated or arbitrary records cause no error other than Mp4Error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (octets) => {
      const record = Buffer.from(octets);
      for (const make of [
        () => avcEntry(record, 2, 2),
        () => hevcEntry(record, 2, 2),
        () => av1Entry(record, 2, 2),
        () => aacEntry(record),
      ]) {
        try {
          assert.ok(make().codecs.length > 4);
        } catch (err) {
          assert.ok(err instanceof Mp4Error, String(err));
        }
      }
    }),
  );
});

test("av01 contains profile, level, tier and bit depth (AV1-ISOBMFF 5)", () => {
  const codecs = (levels: number, flags: number) => av1Entry(Buffer.from([0x81, levels, flags, 0]), 2, 2).codecs;
  assert.equal(codecs(0x08, 0x00), "av01.0.08M.08");
  assert.equal(codecs(0x28, 0x40), "av01.1.08M.10");
  assert.equal(codecs(0x4d, 0xe0), "av01.2.13H.12");
});
