import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { FlvTag } from "../../src/protocol/flv/index.ts";
import { clip, type ClipRecipe, needsFfmpeg, X264 } from "../support/media.ts";
import { publishTags, tagsOf } from "./live/flv-publisher.ts";
import { push, srt } from "./live/publishers.ts";
import { readRuns } from "./live/recorded.ts";
import { descendantsOf, startLiveServer, type Input } from "./live/server.ts";
import { driftOf, ms, sampleProcess, slope, watch } from "./live/soak.ts";
import { until } from "./stream/server.ts";

/**
 * Duration of the test and of each publisher session in minutes. For a short run: REELPOST_BROADCAST_MINUTES=15
 * REELPOST_RECONNECT_MINUTES=3.
 */
const MINUTES = Number(process.env["REELPOST_BROADCAST_MINUTES"] ?? 360);
const RECONNECT_MINUTES = Number(process.env["REELPOST_RECONNECT_MINUTES"] ?? 20);
/** Output file for samples and figures. If unset, no file is written. */
const REPORT = process.env["REELPOST_SOAK_REPORT"];
const SESSIONS = Math.max(2, Math.round(MINUTES / RECONNECT_MINUTES));
const SESSION_SECONDS = (MINUTES * 60) / SESSIONS;
/** Every second reconnect is caused by a key rotation. */
const ROTATED = (session: number) => session % 2 === 1;
/**
 * Timestamp wraparound: RTMP uses 32-bit milliseconds, MPEG-TS a 33-bit 90 kHz clock. Each session wraps once, after a
 * third of its duration.
 */
const RTMP_WRAP_MS = 2 ** 32;
const TS_WRAP_S = 2 ** 33 / 90_000;
const BEFORE_WRAP_S = SESSION_SECONDS / 3;
const FPS = 25;
const AUDIO_RATE = 48_000;
/** Warm-up: caches fill and code is compiled during the first sessions. */
const WARM_MINUTES = Math.min(30, MINUTES / 3);
const MAX_GROWTH_KIB = 256;
/** Maximum drift between audio and video, in seconds. */
const MAX_DRIFT = 0.04;
/** Allowed difference in open descriptors, for temporary connections, watchers and files. */
const MAX_DESCRIPTORS = 8;

test(
  `broadcasts of ${MINUTES} minutes over RTMP and SRT survive clock wraps, reconnects and key rotations`,
  { ...needsFfmpeg, timeout: (MINUTES * 1.25 + 15) * 60_000 },
  async (t) => {
    const server = await startLiveServer(t);
    const recipe = {
      seconds: Math.ceil(SESSION_SECONDS) + 10,
      fps: String(FPS),
      keyframeSeconds: 2,
      size: "320x180",
      // A disconnected publisher loses its last B-frames, so the frame count would not match the duration.
      video: [...X264, "-bf", "0"],
    } satisfies ClipRecipe;
    const [flv, mp4] = [await clip({ ...recipe, extension: "flv" }), await clip(recipe)];
    const tags = await tagsOf(flv);
    const [byRtmp, bySrt] = [
      await server.input("rtmp", { timeoutSeconds: 60 }),
      await server.input("srt", { timeoutSeconds: 60 }),
    ];
    const over = new AbortController();
    const sampling = sampleProcess(server.child.pid!, over.signal);
    const watching = [byRtmp, byRtmp, bySrt].map((input) => watch(input, over.signal));
    await Promise.all([
      broadcast(byRtmp, async (input) => {
        const publisher = await publishTags(t, input, wrapping(tags));
        return { ended: publisher.done, stop: async () => publisher.end() };
      }),
      broadcast(bySrt, async (input) =>
        push(t, mp4, srt(input), { options: ["-output_ts_offset", String(TS_WRAP_S - BEFORE_WRAP_S)] }),
      ),
    ]);
    const children = descendantsOf(server.child.pid!, "ffmpeg").length;
    over.abort();
    const [sampled, watched] = [await sampling, await Promise.all(watching)];
    const steady = sampled.filter(({ minute }) => minute > WARM_MINUTES);
    const growth = {
      kib: slope(steady.map(({ minute, kib }) => ({ minute, value: kib }))),
      descriptors: slope(steady.map(({ minute, descriptors }) => ({ minute, value: descriptors }))),
    };
    const extent = (of: (sample: (typeof sampled)[number]) => number) => [
      of(sampled[0]!),
      Math.max(...sampled.map(of)),
      of(sampled.at(-1)!),
    ];
    const recorded = [];
    for (const input of [byRtmp, bySrt]) {
      await server.api.ok("post", `stream/live_inputs/${input.uid}/disable`);
      const recording = await server.recording(input);
      const runs = await readRuns(recording.playback.hls);
      const { drifts, firsts, ends } = driftOf(runs, { video: 1 / FPS, audio: 1024 / AUDIO_RATE });
      const lengths = runs.map(([video]) => video!.last - video!.first);
      recorded.push({
        runs: runs.length,
        seconds: recording.duration,
        shortestRun: Math.min(...lengths),
        driftMs: ms(drifts),
        firstsApartMs: ms(firsts),
        endsApartMs: ms(ends),
      });
    }
    const figures = {
      minutes: sampled.at(-1)!.minute.toFixed(1),
      sessions: SESSIONS,
      recorded,
      watched,
      kib: extent(({ kib }) => kib),
      descriptors: extent(({ descriptors }) => descriptors),
      growthKibPerMinute: Math.round(growth.kib),
      descriptorsPerMinute: Number(growth.descriptors.toFixed(3)),
      encodersLeft: children,
    };
    t.diagnostic(JSON.stringify(figures));
    if (REPORT !== undefined) writeFileSync(REPORT, JSON.stringify({ figures, sampled }));
    for (const { runs, shortestRun, driftMs, firstsApartMs } of recorded) {
      // A timestamp wraparound causes no discontinuity or gap.
      assert.equal(runs, SESSIONS, "one period per publisher session");
      assert.ok(shortestRun > SESSION_SECONDS - 10, `the shortest period lasts ${shortestRun} s of ${SESSION_SECONDS}`);
      assert.ok(driftMs < MAX_DRIFT * 1000 && firstsApartMs < MAX_DRIFT * 1000, JSON.stringify(recorded));
    }
    assert.ok(
      watched.every(({ segments, failures }) => segments > MINUTES * 20 && failures === 0),
      JSON.stringify(watched),
    );
    assert.ok(
      steady.at(-1)!.descriptors - steady[0]!.descriptors <= MAX_DESCRIPTORS,
      JSON.stringify(figures.descriptors),
    );
    // Needs at least an hour: over a few minutes, garbage collection makes memory growth too noisy.
    if (MINUTES >= 60) assert.ok(growth.kib < MAX_GROWTH_KIB, `${growth.kib} KiB per minute`);
    assert.ok(!server.log().includes('"level":50'), server.log().slice(-3000));

    /** Publishes the sessions one after another, each with the current keys. */
    async function broadcast(
      given: Input,
      publish: (input: Input) => Promise<{ ended: Promise<unknown>; stop(): Promise<void> }>,
    ): Promise<void> {
      let input = given;
      for (let session = 0; session < SESSIONS; session++) {
        const publisher = await publish(input);
        await until(
          async () => ["connected", "reconnected"].includes((await server.state(input))!),
          `session ${session} of ${input.uid} is live`,
        );
        const ended = await Promise.race([sleep(SESSION_SECONDS * 1000), publisher.ended.then(() => true)]);
        assert.ok(
          ended !== true,
          `the publisher of session ${session} ended unexpectedly: ${server.log().slice(-2000)}`,
        );
        // Rotating the keys disconnects the publisher.
        if (ROTATED(session)) input = await server.api.ok("post", `stream/live_inputs/${input.uid}/rotate_keys`);
        else await publisher.stop();
        await publisher.ended;
        await until(
          async () => ["reconnecting", "client_disconnect"].includes((await server.state(input))!),
          `session ${session} of ${input.uid} has ended`,
        );
      }
    }
  },
);

/** A clip with timestamps that start shortly before the wraparound. */
function* wrapping(tags: readonly FlvTag[]): Iterable<FlvTag & { at: number }> {
  for (const tag of tags)
    yield { ...tag, at: tag.time, time: (tag.time + RTMP_WRAP_MS - Math.round(BEFORE_WRAP_S * 1000)) % RTMP_WRAP_MS };
}
