import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { countFrames, runFfmpeg } from "../../support/media.ts";
import { objectsByPrefix } from "./server.ts";

/** Expected final state of a clip's video. */
export interface ExpectedLadder {
  /** The uploaded file. */
  source: string;
  /** Video renditions, lowest first. */
  rungs: readonly string[];
  segments: number;
  audio: boolean;
}

/**
 * PSNR against the source, in decibels, below which a frame counts as different: neighbouring frames of the test
 * pattern are at 24 to 26.
 */
const SAME_FRAME_DB = 28;

/**
 * Compares the stored objects of videos with their clips. Initialization segments are cached per clip, since all videos
 * of a clip have the same ones.
 */
export function createLadderCheck() {
  const inits = new Map<string, string>();
  const found = new Map<string, Promise<void>>();
  const frames = new Map<string, Promise<number>>();
  const figures = { videos: 0, renditions: 0, segments: 0, frames: 0 };

  const framesOf = (source: string): Promise<number> => {
    if (!frames.has(source)) frames.set(source, countFrames(source));
    return frames.get(source)!;
  };

  /** Checks that every stored rendition has exactly the expected segments, with exactly the frames of the source. */
  async function check(
    objects: string,
    uid: string,
    { source, rungs, segments, audio }: ExpectedLadder,
  ): Promise<void> {
    const folder = `stream/${uid}`;
    const renditions = [...rungs, ...(audio ? ["audio"] : [])];
    const stored = objectsByPrefix(objects, folder).filter(
      (name) => /\.(m4s|mp4)$/.test(name) && !name.startsWith("mezzanine"),
    );
    const wanted = renditions.flatMap((rendition) => [
      ...Array.from({ length: segments }, (_, n) => `${rendition}/${n}.m4s`),
      `${rendition}/init.mp4`,
    ]);
    assert.deepEqual(stored, wanted.sort(), `the segments of ${uid}`);
    const expected = await framesOf(source);
    for (const rendition of renditions) {
      const parts = await Promise.all(
        ["init.mp4", ...Array.from({ length: segments }, (_, n) => `${n}.m4s`)].map((name) =>
          readFile(join(objects, folder, rendition, name)),
        ),
      );
      const init = digest(parts[0]!);
      const place = `${source} ${rendition}`;
      assert.equal(
        inits.get(place) ?? init,
        init,
        `the initialization segment of ${rendition} of ${uid} equals that of the other videos`,
      );
      inits.set(place, init);
      const whole = Buffer.concat(parts);
      // Most videos of a clip are identical byte for byte, so one check covers them.
      const name = `${place} ${digest(whole)}`;
      if (!found.has(name))
        found.set(name, rendition === "audio" ? checkSound(whole, source) : checkPictures(whole, source, expected));
      await found.get(name)!.catch((err: Error) => {
        throw new Error(`${rendition} of ${uid}: ${err.message}`, { cause: err });
      });
      if (rendition !== "audio") figures.frames += expected;
      figures.renditions++;
      figures.segments += segments;
    }
    figures.videos++;
  }

  return { check, figures };
}

const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

async function withFile<Result>(
  bytes: Buffer,
  use: (path: string, folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-ladder-"));
  try {
    const path = join(folder, "whole.mp4");
    await writeFile(path, bytes);
    return await use(path, folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Checks that each frame occurs once, in order, with the content of the source frame. */
function checkPictures(bytes: Buffer, source: string, expected: number): Promise<void> {
  return withFile(bytes, async (path, folder) => {
    const stats = join(folder, "psnr");
    // Compares frames one by one, ignoring the timestamps of the containers.
    const small = "settb=1/1000,setpts=N*40,scale=160:90:flags=area,format=yuv420p";
    const listed = await runFfmpeg([
      "-i",
      path,
      "-i",
      source,
      "-filter_complex",
      `[0:v]split[a][b];[b]${small}[c];[1:v]${small}[d];[c][d]psnr=stats_file=${stats}[e]`,
      "-map",
      "[a]",
      "-fps_mode",
      "passthrough",
      "-f",
      "framecrc",
      "-",
      "-map",
      "[e]",
      "-fps_mode",
      "passthrough",
      "-f",
      "null",
      "-",
    ]);
    const times = listed
      .toString()
      .split("\n")
      .filter((line) => /^\d/.test(line))
      .map((line) => line.split(",").map(Number) as [number, number, number, number]);
    assert.equal(times.length, expected, "number of frames");
    const [, , first, length] = times[0]!;
    times.forEach(([, , shown], i) => assert.equal(shown - first, i * length, `presentation time of frame ${i}`));
    const similarities = (await readFile(stats, "utf8"))
      .trim()
      .split("\n")
      .map((line) => Number(/psnr_avg:(\S+)/.exec(line)![1]));
    const worst = Math.min(...similarities.filter((db) => !Number.isNaN(db)));
    assert.ok(worst > SAME_FRAME_DB, `frame ${similarities.indexOf(worst)} differs from the source's by ${worst} dB`);
  });
}

/** Checks that AAC frames are contiguous and cover the duration of the source. */
function checkSound(bytes: Buffer, source: string): Promise<void> {
  return withFile(bytes, async (path) => {
    const [listed, duration] = await Promise.all([
      runFfmpeg(["-show_entries", "packet=pts,duration", "-of", "csv=p=0", path], "ffprobe"),
      runFfmpeg(["-show_entries", "format=duration", "-of", "csv=p=0", source], "ffprobe"),
    ]);
    const packets = listed
      .toString()
      .trim()
      .split("\n")
      .map((line) => line.split(",").map(Number) as [number, number]);
    packets.forEach(([pts], i) => assert.equal(pts - packets[0]![0], i * 1024, `presentation time of packet ${i}`));
    const seconds = (packets.length * 1024) / 48_000;
    assert.ok(
      Math.abs(seconds - Number(duration.toString())) < 0.1,
      `${seconds} s of audio instead of ${duration.toString().trim()} s`,
    );
  });
}
