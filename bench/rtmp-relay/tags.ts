import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type FlvTag, readTags } from "../../src/protocol/flv/index.ts";
import { MESSAGE } from "../../src/protocol/rtmp/index.ts";
import { ffmpeg } from "../vod-ladder/source-clip.ts";

const FILE_HEADER = 13;

/** Typical encoder output: 720p at 30 fps and 6 Mbit/s, a key frame every two seconds, AAC. */
export async function makeTags(dir: string, seconds: number): Promise<FlvTag[]> {
  const file = join(dir, "published.flv");
  await ffmpeg([
    "-f",
    "lavfi",
    "-i",
    `testsrc2=size=1280x720:rate=30:duration=${seconds}`,
    "-f",
    "lavfi",
    "-i",
    `sine=frequency=440:sample_rate=48000:duration=${seconds}`,
    // Noise is added because a simple image would not reach the intended bitrate.
    "-vf",
    "noise=alls=30:allf=t",
    "-c:v",
    "libx264",
    "-preset",
    "ultrafast",
    "-tune",
    "zerolatency",
    "-pix_fmt",
    "yuv420p",
    "-b:v",
    "6M",
    "-minrate",
    "6M",
    "-maxrate",
    "6M",
    "-bufsize",
    "3M",
    "-g",
    "60",
    "-c:a",
    "aac",
    "-b:a",
    "128k",
    file,
  ]);
  const bytes = await readFile(file);
  return [...readTags(bytes.subarray(FILE_HEADER))].filter(
    ({ type }) => type === MESSAGE.audio || type === MESSAGE.video,
  );
}
