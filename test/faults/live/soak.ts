import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { get } from "../stream/viewer.ts";
import type { RecordedTrack } from "./recorded.ts";
import type { Input } from "./server.ts";

/** Resource usage of a process, `minute` minutes after sampling began. */
interface Sample {
  minute: number;
  kib: number;
  descriptors: number;
}

const SAMPLE_MS = 2000;

/** Samples resident memory and open descriptors of a process until `over` is aborted. */
export async function sampleProcess(pid: number, over: AbortSignal): Promise<Sample[]> {
  const began = performance.now();
  const samples: Sample[] = [];
  for (; !over.aborted; await sleep(SAMPLE_MS)) {
    const kib = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);
    samples.push({
      minute: (performance.now() - began) / 60_000,
      kib,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
    });
  }
  return samples;
}

/** Returns the growth per minute, by linear regression. */
export function slope(points: readonly { minute: number; value: number }[]): number {
  const mean = (of: (point: (typeof points)[number]) => number) =>
    points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean(({ minute }) => minute), mean(({ value }) => value)];
  return (
    points.reduce((sum, { minute, value }) => sum + (minute - x) * (value - y), 0) /
    points.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0)
  );
}

/** Difference in seconds between the last packet's timestamp and the timestamp expected from the packet count. */
const lastPacketOffset = ({ packets, first, lastBegins }: RecordedTrack, each: number): number =>
  lastBegins - first - (packets - 1) * each;

/**
 * For each run, in seconds: audio drift relative to each video rendition, and the distance between their first and last
 * samples.
 */
export function driftOf(
  runs: readonly RecordedTrack[][],
  frame: { video: number; audio: number },
): { drifts: number[]; firsts: number[]; ends: number[] } {
  return {
    drifts: runs.flatMap((tracks) =>
      tracks
        .slice(0, -1)
        .map((video) => Math.abs(lastPacketOffset(video, frame.video) - lastPacketOffset(tracks.at(-1)!, frame.audio))),
    ),
    firsts: runs.map((tracks) => Math.abs(tracks[0]!.first - tracks.at(-1)!.first)),
    ends: runs.map((tracks) => Math.abs(tracks[0]!.last - tracks.at(-1)!.last)),
  };
}

/** Returns the maximum of the values, in milliseconds. */
export const ms = (seconds: readonly number[]): number => Math.round(Math.max(...seconds) * 1e5) / 100;

/** Sends the requests that a player would: playlists every second, each segment once. */
export async function watch(show: Input, over: AbortSignal): Promise<{ segments: number; failures: number }> {
  const seen = new Set<string>();
  let failures = 0;
  for (; !over.aborted; await sleep(1000)) {
    const master = await get(show.playback.hls);
    // The broadcast may not have started yet.
    if (master.status !== 200) continue;
    for (const rendition of linesOf(master.body)) {
      const at = new URL(rendition, show.playback.hls);
      const list = await get(at.href);
      if (list.status !== 200) failures++;
      for (const segment of linesOf(list.body)) {
        if (!segment.includes(".m4s") || seen.has(segment)) continue;
        seen.add(segment);
        if ((await get(new URL(segment, at).href)).status !== 200) failures++;
      }
    }
  }
  return { segments: seen.size, failures };
}

const linesOf = (playlist: Buffer): string[] =>
  playlist
    .toString()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
