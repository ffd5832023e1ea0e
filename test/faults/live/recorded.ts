import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { get } from "../stream/viewer.ts";

/** One rendition between two discontinuities, as read by ffmpeg. Times are in seconds. */
export interface RecordedTrack {
  name: string;
  kind: "video" | "audio";
  packets: number;
  first: number;
  /** End time of the last packet, followed by its start time. */
  last: number;
  lastBegins: number;
  size: string;
  codec: string;
}

/**
 * Reads a recording run by run, each with its renditions, audio last. Decodes every frame: an ffmpeg warning fails the
 * test. `longestGap`: maximum seconds without data in a rendition.
 */
export async function readRuns(playlist: string, longestGap = GAP): Promise<RecordedTrack[][]> {
  const master = await text(playlist);
  const renditions = new Set<string>();
  for (const line of master.split("\n")) {
    if (line !== "" && !line.startsWith("#")) renditions.add(line);
    const named = /^#EXT-X-MEDIA:.*URI="([^"]+)"/.exec(line);
    if (named !== null) renditions.add(named[1]!);
  }
  const folder = await mkdtemp(join(tmpdir(), "reelpost-recorded-"));
  try {
    const runs: RecordedTrack[][] = [];
    for (const [i, path] of [...renditions].entries()) {
      for (const [run, files] of (await filesOf(new URL(path, playlist).href, longestGap)).entries()) {
        if (files.length < 2) continue;
        const file = join(folder, `${i}-${run}.mp4`);
        await writeFile(file, Buffer.concat(await Promise.all(files.map(octets))));
        (runs[run] ??= []).push(await readTrack(file, new URL(path, playlist).pathname));
      }
    }
    return runs.map((tracks) => tracks.toSorted((a, b) => (a.kind === b.kind ? 0 : a.kind === "video" ? -1 : 1)));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Maximum gap, in seconds, where the audio for the last frames never arrived: MPEG-TS audio arrives half a second late.
 */
const GAP = 0.8;

/** URLs of the initialization segment and the media segments, by run. */
async function filesOf(playlist: string, longestGap: number): Promise<string[][]> {
  const words = await text(playlist);
  assert.match(words, /#EXT-X-ENDLIST/);
  const runs: string[][] = [[]];
  let gap = false;
  let seconds = 0;
  for (const line of words.split("\n")) {
    const init = /^#EXT-X-MAP:URI="([^"]+)"/.exec(line);
    if (line === "#EXT-X-DISCONTINUITY") runs.push([]);
    else if (line === "#EXT-X-GAP") gap = true;
    else if (line.startsWith("#EXTINF:")) seconds = Number.parseFloat(line.slice(8));
    if (init !== null) runs.at(-1)!.unshift(new URL(init[1]!, playlist).href);
    else if (line !== "" && !line.startsWith("#")) {
      if (gap) assert.ok(seconds <= longestGap, `a gap of ${seconds} s: ${words}`);
      else runs.at(-1)!.push(new URL(line, playlist).href);
      gap = false;
    }
  }
  return runs;
}

async function readTrack(file: string, name: string): Promise<RecordedTrack> {
  const [probed, decoded] = await Promise.all([
    run("ffprobe", [
      "-loglevel",
      "warning",
      "-show_entries",
      "stream=codec_type,codec_name,width,height:packet=pts_time,duration_time",
      "-of",
      "json",
      file,
    ]),
    run("ffmpeg", [
      "-hide_banner",
      "-loglevel",
      "warning",
      "-nostdin",
      "-xerror",
      "-threads",
      "1",
      "-i",
      file,
      "-fps_mode",
      "passthrough",
      "-f",
      "null",
      "-",
    ]),
  ]);
  assert.equal(probed.words + decoded.words, "", name);
  const {
    streams: [stream],
    packets,
  } = JSON.parse(probed.output) as {
    streams: { codec_type: "video" | "audio"; codec_name: string; width?: number; height?: number }[];
    packets: { pts_time: string; duration_time?: string }[];
  };
  const times = packets.map(({ pts_time: time }) => Number(time));
  const ends = packets.map(({ pts_time: time, duration_time: duration = "0" }) => Number(time) + Number(duration));
  return {
    name,
    kind: stream!.codec_type,
    packets: packets.length,
    first: Math.min(...times),
    last: Math.max(...ends),
    lastBegins: Math.max(...times),
    size: `${stream!.width ?? 0}x${stream!.height ?? 0}`,
    codec: stream!.codec_name,
  };
}

/**
 * Reads the whole recording like any HLS player. Returns warnings, and the number of video and audio frames in the
 * first rendition of each.
 */
export async function readWhole(
  playlist: string,
): Promise<{ words: string; videoFrames: number; audioFrames: number }> {
  const { output, words } = await run("ffmpeg", [
    "-hide_banner",
    "-loglevel",
    "warning",
    "-nostdin",
    "-threads",
    "1",
    "-i",
    playlist,
    "-map",
    "0:v:0?",
    "-map",
    "0:a:0?",
    "-c",
    "copy",
    "-f",
    "framecrc",
    "-",
  ]);
  const kinds = new Map([...output.matchAll(/^#media_type (\d): (\w+)/gm)].map(([, index, kind]) => [index!, kind!]));
  const counted = (kind: string) =>
    output.split("\n").filter((line) => /^\d/.test(line) && kinds.get(line[0]!) === kind).length;
  return { words, videoFrames: counted("video"), audioFrames: counted("audio") };
}

export const videoFrameCount = (runs: RecordedTrack[][]): number =>
  runs.reduce((sum, tracks) => sum + (tracks.find(({ kind }) => kind === "video")?.packets ?? 0), 0);

function run(program: string, args: string[]): Promise<{ output: string; words: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], timeout: 110_000, killSignal: "SIGKILL" });
    let output = "";
    let words = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (output += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (words = (words + chunk).slice(-4096)));
    child
      .on("error", reject)
      .on("close", (code) =>
        code === 0 ? resolve({ output, words }) : reject(new Error(`${program} ${args.join(" ")}: ${code} ${words}`)),
      );
  });
}

async function octets(url: string): Promise<Buffer> {
  const { status, body } = await get(url);
  assert.equal(status, 200, `${url}: ${body.toString().slice(0, 200)}`);
  return body;
}

const text = async (url: string): Promise<string> => (await octets(url)).toString();
