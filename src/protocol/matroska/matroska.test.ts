import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { needsFfmpeg, runFfmpeg } from "../../../test/support/media.ts";
import { createMatroskaWriter } from "./index.ts";

test("ffmpeg reads the tracks, all frames, and their times to the microsecond", needsFfmpeg, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "reelpost-matroska-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const writer = createMatroskaWriter([
    { kind: "video", codec: "V_VP8", config: Buffer.alloc(0), width: 320, height: 180 },
    { kind: "audio", codec: "A_AAC", config: Buffer.from("1190", "hex"), sampleRate: 48_000, channels: 2 },
  ]);
  // Frames more than 16 bits of ticks apart, and sizes that need more than 7 bits.
  const frames = [
    [1, 0, true, 300],
    [2, 1, true, 5],
    [1, 33_367, false, 12],
    [2, 21_333, true, 70_000],
    [1, 7_200_000_001, true, 40],
  ] as const;
  // The first bit of a VP8 frame marks a key frame.
  const path = join(folder, "stream.mkv");
  await writeFile(
    path,
    Buffer.concat([
      writer.header(),
      ...frames.flatMap(([track, time, key, size]) => writer.block(track, time, key, Buffer.alloc(size, key ? 0 : 1))),
    ]),
  );
  const said = JSON.parse(
    (
      await runFfmpeg(
        [
          "-f",
          "matroska",
          "-show_entries",
          "stream=codec_name,width,sample_rate:packet=stream_index,pts_time,flags,size",
          "-of",
          "json",
          path,
        ],
        "ffprobe",
      )
    ).toString(),
  ) as { streams: unknown[]; packets: Record<string, string>[] };
  assert.deepEqual(said.streams, [
    { codec_name: "vp8", width: 320 },
    { codec_name: "aac", sample_rate: "48000" },
  ]);
  assert.deepEqual(
    said.packets.map(({ stream_index, pts_time, flags, size }) => [
      Number(stream_index) + 1,
      Math.round(Number(pts_time) * 1_000_000),
      flags!.startsWith("K"),
      Number(size),
    ]),
    frames,
  );
});
