import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { clip, needsFfmpeg } from "../support/media.ts";
import { push, rtmp } from "./live/publishers.ts";
import { readRuns } from "./live/recorded.ts";
import { startLiveServer } from "./live/server.ts";
import { driftOf, ms, sampleProcess, slope, watch } from "./live/soak.ts";
import { until } from "./stream/server.ts";

const MINUTES = Number(process.env["REELPOST_SOAK_MINUTES"] ?? 30);
const VIEWERS = 5;
/** Seconds of each minute during which the publisher is connected. */
const PUBLISHED = 55;
/** The first broadcasts allocate memory permanently, for compiled code and caches. */
const WARM_MINUTES = Math.min(5, MINUTES / 3);
/** KiB per minute. */
const MAX_GROWTH = 512;
/** Maximum drift between audio and video over a run, in seconds. */
const MAX_DRIFT = 0.04;

test(
  `a broadcast of ${MINUTES} minutes whose publisher reconnects every minute does not increase memory use, and audio and video stay in sync`,
  { ...needsFfmpeg, timeout: (MINUTES + 6) * 60_000 },
  async (t) => {
    const server = await startLiveServer(t);
    const show = await server.input("soak", { timeoutSeconds: 30 });
    const file = await clip({ seconds: PUBLISHED + 5, fps: "25", keyframeSeconds: 2, size: "480x270" });
    const began = performance.now();
    const minute = () => (performance.now() - began) / 60_000;
    const over = new AbortController();
    const sampling = sampleProcess(server.child.pid!, over.signal);
    const watching = Array.from({ length: VIEWERS }, () => watch(show, over.signal));
    for (let i = 0; i < MINUTES; i++) {
      const publisher = push(t, file, rtmp(show));
      await until(async () => ["connected", "reconnected"].includes((await server.state(show))!), "the input is live");
      await Promise.race([sleep(PUBLISHED * 1000), publisher.ended]);
      await (i % 2 === 0 ? publisher.kill() : publisher.stop());
      await until(
        async () => ["reconnecting", "client_disconnect"].includes((await server.state(show))!),
        "the input is offline",
      );
    }
    over.abort();
    const sampled = await sampling;
    const watched = await Promise.all(watching);
    await server.api.ok("post", `stream/live_inputs/${show.uid}/disable`);
    const runs = await readRuns((await server.recording(show)).playback.hls);
    const { drifts, firsts, ends } = driftOf(runs, { video: 1 / 25, audio: 1024 / 48_000 });
    const growth = slope(
      sampled.filter(({ minute }) => minute > WARM_MINUTES).map(({ minute, kib }) => ({ minute, value: kib })),
    );
    t.diagnostic(
      JSON.stringify({
        minutes: minute().toFixed(1),
        runs: runs.length,
        segments: watched.map(({ segments }) => segments),
        failures: watched.map(({ failures }) => failures),
        kib: [sampled[0]!.kib, Math.max(...sampled.map(({ kib }) => kib)), sampled.at(-1)!.kib],
        growthKibPerMinute: Math.round(growth),
        driftMs: ms(drifts),
        firstsApartMs: ms(firsts),
        endsApartMs: ms(ends),
      }),
    );
    assert.equal(runs.length, MINUTES);
    assert.ok(Math.max(...drifts) < MAX_DRIFT && Math.max(...firsts) < MAX_DRIFT, JSON.stringify(runs));
    // Needs at least 20 minutes: over a shorter time, garbage collection makes memory growth too noisy.
    if (MINUTES >= 20) assert.ok(growth < MAX_GROWTH, `${growth} KiB per minute`);
    assert.ok(
      watched.every(({ segments, failures }) => segments > MINUTES * 10 && failures === 0),
      JSON.stringify(watched),
    );
    assert.ok(!server.log().includes('"level":50'), server.log().slice(-3000));
  },
);
