import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { clip, needsFfmpeg } from "../support/media.ts";
import { createLadderCheck } from "./stream/ladder.ts";
import { uploadForm } from "./stream/senders.ts";
import {
  metric,
  objectsByPrefix,
  waitForFinalState,
  startVideoServer,
  until,
  videoOf,
  type VideoServer,
} from "./stream/server.ts";
import { get, segmentsOf, continueWatching } from "./stream/viewer.ts";

const VIEWERS = 500;
const RUNG = "180p";
const SEGMENTS = 10;

test(
  `${VIEWERS} viewers of segments that are not yet encoded cause few encoder runs, each gets a segment, and other viewers keep playing`,
  { ...needsFfmpeg, timeout: 240_000 },
  async (t) => {
    const source = await clip({
      seconds: 38,
      size: "320x180",
      fps: "24",
      video: ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-b:v", "300k"],
      audio: false,
    });
    const first = await startVideoServer(t, {
      env: { REELPOST_LOG_LEVEL: "warn", REELPOST_STREAM_PASSTHROUGH: "false" },
    });
    const { dataDirectory } = first;
    const objects = join(dataDirectory, "objects");
    const watched = await uploadForm(first, await clip());
    await waitForFinalState(first, watched);
    const uids = await Promise.all(Array.from({ length: 6 }, () => uploadForm(first, source)));
    await until(
      async () =>
        (await Promise.all(uids.map((uid) => videoOf(first, uid)))).every(({ readyToStream }) => readyToStream),
      "all videos are playable",
    );
    await first.crash();
    for (const uid of uids)
      for (const name of objectsByPrefix(objects, `stream/${uid}`))
        if (/^chunks|\/[1-9]\d*\.m4s$/.test(name)) await rm(join(objects, "stream", uid, name));

    // This server only encodes segments on request.
    const server = await startVideoServer(t, {
      dataDirectory,
      args: ["--roles", "api,workers,playback"],
      env: { REELPOST_LOG_LEVEL: "warn", REELPOST_STREAM_PASSTHROUGH: "false" },
    });
    const idle = () =>
      until(async () => (await metric(server, "reelpost_media_running")) === 0, "no encoder is running");
    /** The number of encoder runs, including those for the segments that follow the requested ones. */
    async function runs(): Promise<number> {
      await idle();
      return metric(server, "reelpost_media_run_seconds_count", { program: "ffmpeg", outcome: "ok" });
    }
    const other = continueWatching(server.ready.url, watched);
    const address = (uid: string, n: number) => `${server.ready.url}/${uid}/segments/${RUNG}/${n}.m4s`;
    const all = async (urls: readonly string[]) => {
      const answers = await Promise.all(urls.map((url) => get(url)));
      for (const [i, { status, body }] of answers.entries())
        assert.equal(status, 200, `${urls[i]}: ${status === 200 ? "" : body.toString()}`);
      return answers;
    };
    const [alone, , leaving, ...many] = uids as [string, string, string, ...string[]];

    const same = await all(Array.from({ length: VIEWERS }, () => address(alone, 5)));
    assert.ok(same.every(({ body }) => body.equals(same[0]!.body)));
    assert.deepEqual(same[0]!.body, await readFile(join(objects, "stream", alone, RUNG, "5.m4s")));
    const forOne = await runs();
    assert.ok(forOne <= 4, `${forOne} encoder runs for one segment and the two that follow`);

    const spread = await all(Array.from({ length: VIEWERS }, (_, i) => address(uids[1]!, 1 + (i % (SEGMENTS - 1)))));
    const forAll = (await runs()) - forOne;
    assert.ok(forAll <= SEGMENTS, `${forAll} encoder runs for ${SEGMENTS - 1} segments`);

    const before = await runs();
    const crowd = await all(
      Array.from({ length: VIEWERS }, (_, i) =>
        address(many[i % many.length]!, 1 + (Math.floor(i / many.length) % (SEGMENTS - 1))),
      ),
    );
    const forMany = (await runs()) - before;
    assert.ok(
      forMany <= many.length * SEGMENTS,
      `${forMany} encoder runs for ${many.length * (SEGMENTS - 1)} segments`,
    );

    // A viewer that disconnects cancels its request.
    const gone = new AbortController();
    const left = Array.from({ length: VIEWERS }, (_, i) =>
      get(address(leaving, 1 + (i % (SEGMENTS - 1))), gone.signal).catch(() => undefined),
    );
    await until(async () => (await metric(server, "reelpost_media_running")) > 0, "an encoder is running");
    gone.abort();
    await Promise.all(left);
    await idle();
    const kept = objectsByPrefix(objects, `stream/${leaving}/${RUNG}`).filter((name) => name.endsWith(".m4s"));
    assert.ok(kept.length < SEGMENTS, "most segments were not encoded");

    const { requests, slowestMs } = await other.stop();
    const slowest = (answers: { ms: number }[]) => Math.round(Math.max(...answers.map(({ ms }) => ms)));
    t.diagnostic(
      JSON.stringify({
        runs: { forOne, forAll, forMany },
        slowestMs: { forOne: slowest(same), forAll: slowest(spread), forMany: slowest(crowd) },
        other: { requests, slowestMs },
      }),
    );
    // stop() has checked the status of each request; the benchmarks check latency.
    assert.ok(requests > 10);
    assert.deepEqual(await server.stop(), { code: 0, signal: null });
    assert.ok(!server.log().includes('"level":50'), server.log());

    // Segments encoded for viewers become part of the ladder that the background encoder completes later.
    const last: VideoServer = await startVideoServer(t, { dataDirectory, env: { REELPOST_LOG_LEVEL: "warn" } });
    const { check } = createLadderCheck();
    for (const uid of [alone, leaving, many[0]!]) {
      assert.equal((await waitForFinalState(last, uid)).status.state, "ready");
      assert.deepEqual([...(await segmentsOf(last.ready.url, uid)).keys()].includes(RUNG), true);
      await check(objects, uid, { source, rungs: [RUNG], segments: SEGMENTS, audio: false });
    }
  },
);
