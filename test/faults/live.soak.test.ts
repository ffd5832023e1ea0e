import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { clip, needsFfmpeg } from "../support/media.ts";
import { push, rtmp } from "./live/publishers.ts";
import { readRuns, type RecordedTrack } from "./live/recorded.ts";
import { startLiveServer, type Input } from "./live/server.ts";
import { until } from "./stream/server.ts";
import { get } from "./stream/viewer.ts";

const MINUTES = Number(process.env["REELPOST_SOAK_MINUTES"] ?? 30);
const VIEWERS = 5;
/** Seconds of each minute that its publisher is there. */
const PUBLISHED = 55;
const SAMPLE_MS = 2000;
/** What the first broadcasts leave for good: code that was compiled, caches that are filled. */
const WARM_MINUTES = Math.min(5, MINUTES / 3);
/** KiB a minute. */
const MOST_GROWTH = 512;
/** Seconds between sound and pictures that belong together, from the beginning to the end of a run. */
const MOST_DRIFT = 0.04;

test(`a broadcast of ${MINUTES} minutes whose publisher comes anew every minute: memory does not grow, sound and pictures stay together`, { ...needsFfmpeg, timeout: (MINUTES + 6) * 60_000 }, async (t) => {
  const server = await startLiveServer(t);
  const show = await server.input("soak", { timeoutSeconds: 30 });
  const file = await clip({ seconds: PUBLISHED + 5, fps: "25", keyframeSeconds: 2, size: "480x270" });
  const sampled: { minute: number; kib: number }[] = [];
  const began = performance.now();
  const minute = () => (performance.now() - began) / 60_000;
  const over = new AbortController();
  const sampling = (async () => {
    for (; !over.signal.aborted; await sleep(SAMPLE_MS)) sampled.push({ minute: minute(), kib: Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, "utf8"))![1]) });
  })();
  const watching = Array.from({ length: VIEWERS }, () => watch(show, over.signal));
  for (let i = 0; i < MINUTES; i++) {
    const publisher = push(t, file, rtmp(show));
    await until(async () => ["connected", "reconnected"].includes((await server.state(show))!), "it is on");
    await Promise.race([sleep(PUBLISHED * 1000), publisher.ended]);
    await (i % 2 === 0 ? publisher.kill() : publisher.stop());
    await until(async () => ["reconnecting", "client_disconnect"].includes((await server.state(show))!), "it is off");
  }
  over.abort();
  await sampling;
  const watched = await Promise.all(watching);
  await server.api.ok("post", `stream/live_inputs/${show.uid}/disable`);
  const runs = await readRuns((await server.recording(show)).playback.hls);
  const drifts = runs.flatMap((tracks) => tracks.slice(0, -1).map((pictures) => Math.abs(strayed(pictures, 1 / 25) - strayed(tracks.at(-1)!, 1024 / 48_000))));
  const firsts = runs.map((tracks) => Math.abs(tracks[0]!.first - tracks.at(-1)!.first));
  const ends = runs.map((tracks) => Math.abs(tracks[0]!.last - tracks.at(-1)!.last));
  const growth = slope(sampled.filter(({ minute }) => minute > WARM_MINUTES));
  t.diagnostic(JSON.stringify({
    minutes: minute().toFixed(1), runs: runs.length, segments: watched.map(({ segments }) => segments), mistakes: watched.map(({ mistakes }) => mistakes), kib: [sampled[0]!.kib, Math.max(...sampled.map(({ kib }) => kib)), sampled.at(-1)!.kib],
    growthKibPerMinute: Math.round(growth), driftMs: ms(drifts), firstsApartMs: ms(firsts), endsApartMs: ms(ends),
  }));
  assert.equal(runs.length, MINUTES);
  assert.ok(Math.max(...drifts) < MOST_DRIFT && Math.max(...firsts) < MOST_DRIFT, JSON.stringify(runs));
  // Half an hour tells; over a few minutes the garbage collector has its moods.
  if (MINUTES >= 20) assert.ok(growth < MOST_GROWTH, `${growth} KiB a minute`);
  assert.ok(watched.every(({ segments, mistakes }) => segments > MINUTES * 10 && mistakes === 0), JSON.stringify(watched));
  assert.ok(!server.log().includes('"level":50'), server.log().slice(-3000));
});

/** Seconds by which the last packet is not where it belongs by their number. */
const strayed = ({ packets, first, lastBegins }: RecordedTrack, each: number): number => lastBegins - first - (packets - 1) * each;

const ms = (seconds: number[]): number => Math.round(Math.max(...seconds) * 1e5) / 100;

/** Asks as a player does: for the list every second, and for every segment once. */
async function watch(show: Input, over: AbortSignal): Promise<{ segments: number; mistakes: number }> {
  const seen = new Set<string>();
  let mistakes = 0;
  for (; !over.aborted; await sleep(1000)) {
    const master = await get(show.playback.hls);
    // Nothing is on yet.
    if (master.status !== 200) continue;
    for (const rendition of linesOf(master.body)) {
      const at = new URL(rendition, show.playback.hls);
      const list = await get(at.href);
      if (list.status !== 200) mistakes++;
      for (const segment of linesOf(list.body)) {
        if (!segment.includes(".m4s") || seen.has(segment)) continue;
        seen.add(segment);
        if ((await get(new URL(segment, at).href)).status !== 200) mistakes++;
      }
    }
  }
  return { segments: seen.size, mistakes };
}

const linesOf = (playlist: Buffer): string[] => playlist.toString().split("\n").filter((line) => line !== "" && !line.startsWith("#"));

/** Of the line that is nearest to all of them. */
function slope(points: readonly { minute: number; kib: number }[]): number {
  const mean = (of: (point: (typeof points)[number]) => number) => points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const [x, y] = [mean(({ minute }) => minute), mean(({ kib }) => kib)];
  return points.reduce((sum, { minute, kib }) => sum + (minute - x) * (kib - y), 0) / points.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0);
}
