import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { clip, type ClipRecipe, needsFfmpeg, X264 } from "../../../test/support/media.ts";
import { describeFile } from "./describe.ts";
import { scanIndex } from "./index-scan.ts";
import { scanPackets } from "./packet-scan.ts";
import { openProbe } from "./probe.testing.ts";
import type { TrackScan } from "./track-scan.ts";
import { chooseTracks } from "./tracks.ts";

const B_FRAMES = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "3"];

describe("the index of an mp4 file gives the same scan as its packets", needsFfmpeg, () => {
  const recipes: Record<string, ClipRecipe> = {
    plain: {},
    "29.97 fps with B-frames": { fps: "30000/1001", video: B_FRAMES },
    "index at the start": { output: ["-movflags", "+faststart"], video: B_FRAMES },
    "QuickTime with PCM": { extension: "mov", audio: ["-c:a", "pcm_s16le"] },
    "variable frame rate": { filter: "select='gt(mod(n,11),2)'", output: ["-fps_mode", "vfr"] },
    "a single key frame": { video: [...X264, "-g", "1000"], keyframeSeconds: 100 },
    silent: { audio: false },
    "audio only": { video: false, extension: "m4a" },
    HEVC: { seconds: 1, video: ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=none"] },
  };
  for (const [name, recipe] of Object.entries(recipes)) {
    test(name, async (t) => {
      const path = await clip(recipe);
      const { tools, objects } = await openProbe(t);
      await objects.put("a", await readFile(path));
      const handle = (await objects.open("a"))!;
      const description = await describeFile(tools, path, {});
      const tracks = chooseTracks(description);
      const [index, packets] = [
        await scanIndex(handle, description, tracks),
        await scanPackets(tools, path, handle.size, description, tracks, {}),
      ];
      assert.equal(index?.indexed, true);
      for (const kind of ["video", "audio"] as const) alike(index![kind], packets[kind], kind);
    });
  }
});

function alike(index: TrackScan | undefined, packets: TrackScan | undefined, kind: string): void {
  assert.equal(index === undefined, packets === undefined);
  if (index === undefined || packets === undefined) return;
  const about = `${kind}: ${JSON.stringify(index)} and ${JSON.stringify(packets)}`;
  // AAC: the first packet is priming and not audible. PCM: ffmpeg merges many samples into one packet.
  const slack = kind === "audio" ? 0.05 : 1e-6;
  if (kind === "video")
    assert.deepEqual(
      [index.packets, index.octets, index.startsWithKeyFrame],
      [packets.packets, packets.octets, packets.startsWithKeyFrame],
      about,
    );
  for (const [a, b] of [
    [index.start, packets.start],
    [index.end, packets.end],
  ] as const)
    assert.ok(Math.abs(a - b) <= slack, about);
  if (kind === "video")
    assert.ok(
      Math.abs(index.keyframeInterval - packets.keyframeInterval) < 1e-6 &&
        Math.abs((index.cadence.rate ?? 0) - (packets.cadence.rate ?? 0)) < 1e-6,
      about,
    );
}
