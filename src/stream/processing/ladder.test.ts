import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { clip, type ClipRecipe, mediaClips, needsFfmpeg } from "../../../test/support/media.ts";
import { measurePsnr } from "../encode/encode.testing.ts";
import { openProcessing } from "./processing.testing.ts";

const X264 = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"];

/** Typical uploads at the smallest size; the filter converts the source to the expected result. */
const uploads: Record<string, { recipe: ClipRecipe; filter?: string; size?: [number, number] }> = {
  "29.97 fps, several segments": { recipe: { ...mediaClips.ntsc, seconds: 9 } },
  "60 fps": { recipe: mediaClips.sixty, filter: "framestep=2" },
  "vertical, rotated": { recipe: mediaClips.rotated, size: [180, 320] },
  WebM: { recipe: mediaClips.webm },
  "a transport stream": { recipe: { ...mediaClips.transportStream, seconds: 6 } },
  "AVI, whose copy shows the first frame twice": {
    recipe: { extension: "avi", video: ["-c:v", "mpeg4", "-q:v", "3"], audio: ["-c:a", "mp3"] },
    filter: "tpad=start=1:start_mode=clone",
  },
  "video that starts after the audio": { recipe: { seconds: 5, extension: "mkv", fps: "25" } },
  "odd dimensions": {
    recipe: { size: "321x181", video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv444p"] },
  },
  "B-frames and open GOPs": {
    recipe: {
      seconds: 9,
      video: [
        "-c:v",
        "libx264",
        "-preset",
        "veryfast",
        "-bf",
        "3",
        "-x264-params",
        "open-gop=1:keyint=50",
        "-pix_fmt",
        "yuv420p",
      ],
    },
  },
  "a truncated source": {
    recipe: { seconds: 9, fps: "25", video: X264, output: ["-movflags", "+faststart"], keep: 0.6 },
  },
};

for (const [name, { recipe, filter, size }] of Object.entries(uploads)) {
  test(`the played frames match the upload: ${name}`, needsFfmpeg, async (t) => {
    const path = await clip(recipe);
    const { upload, until, segments, folder } = await openProcessing(t);
    const uid = await upload(path);
    const video = await until(uid, ({ state }) => state === "ready" || state === "error");
    assert.equal(video.state, "ready", JSON.stringify(video.errorReason));
    const rung = video.model!.ladder.at(-1)!;
    const parts = await Promise.all(
      (["init", ...Array.from({ length: video.model!.segments.count }, (_, n) => n)] as const).map(async (n) =>
        (await segments.findStored(video, rung.name, n))!.bytes(),
      ),
    );
    const made = join(folder, "made.mp4");
    await writeFile(made, Buffer.concat(parts));
    const found = await measurePsnr(made, path, { ...(filter !== undefined && { filter }), ...(size && { size }) });
    assert.ok(Math.min(...found) > 26, found.map((db) => db.toFixed(0)).join(" "));
  });
}
