import assert from "node:assert/strict";
import { globSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { clip, needsFfmpeg } from "../support/media.ts";
import { temporaryFolder } from "../support/serve.ts";
import { mountSmallDisk } from "../support/small-disk.ts";
import { push, rtmp } from "./live/publishers.ts";
import { readRuns } from "./live/recorded.ts";
import { startLiveServer, type Input } from "./live/server.ts";
import { uploadForm } from "./stream/senders.ts";
import { until, waitForFinalState } from "./stream/server.ts";
import { continueWatching } from "./stream/viewer.ts";

test(
  "a full disk during recording is reported, while the broadcast continues and stored segments and other videos still play",
  { ...needsFfmpeg, timeout: 240_000 },
  async (t) => {
    const small = mountSmallDisk(t, 32);
    if (small === undefined) return t.skip("cannot mount a small disk here");
    const server = await startLiveServer(t, {
      dataDirectory: await temporaryFolder(t, "full"),
      env: { REELPOST_OBJECTS_DIR: join(small.folder, "objects") },
    });
    const file = await clip({ seconds: 40, fps: "25", keyframeSeconds: 1 });
    const watched = await uploadForm(server, await clip());
    assert.equal((await waitForFinalState(server, watched)).status.state, "ready");
    const viewer = continueWatching(server.ready.url, watched);
    const show = await server.input("full");
    const publisher = push(t, file, rtmp(show));
    await server.onAir(show);
    await until(async () => (await lastOf(show)) >= 2, "a few seconds are recorded");
    small.fill();
    await until(
      async () => (await server.history(show)).includes("ERR_STORAGE_QUOTA_EXHAUSTED"),
      "the full disk is reported",
    );
    const before = await lastOf(show);
    await until(async () => (await lastOf(show)) >= before + 3, "the broadcast continues");
    assert.equal(await server.state(show), "connected");
    const newest = (await playlistOf(show))
      .split("\n")
      .findLast((line) => line.includes(".m4s") && !line.startsWith("#"))!;
    assert.equal((await fetch(new URL(newest, show.playback.hls))).status, 200, newest);
    small.free();
    await publisher.stop();
    const video = await server.recording(show);
    const runs = await readRuns(video.playback.hls, 2);
    assert.ok(runs.length === 1 && video.duration > 2, JSON.stringify([video.duration, runs]));
    const playlist = await playlistOf(show);
    assert.match(playlist, /#EXT-X-ENDLIST/);
    const seconds = [...playlist.matchAll(/^#EXTINF:([\d.]+)/gm)].reduce((sum, [, one]) => sum + Number(one), 0);
    assert.ok(Math.abs(seconds - video.duration) < 0.1, `the playlist has ${seconds} s, the video ${video.duration} s`);
    const folder = join(small.folder, "objects", "stream", video.uid, "live");
    assert.deepEqual(globSync("*/source/*.m4s", { cwd: folder }).length, playlist.split("#EXTINF").length - 1);
    assert.deepEqual((await server.history(show)).filter((word) => word === "ERR_STORAGE_QUOTA_EXHAUSTED").length, 1);

    // Once space is available again, recording is complete.
    const next = await server.input("room");
    const second = push(t, file, rtmp(next));
    await until(async () => (await lastOf(next)) >= 1, "the broadcast is live");
    await second.stop();
    assert.equal((await readRuns((await server.recording(next)).playback.hls)).length, 1);
    t.diagnostic(JSON.stringify(await viewer.stop()));

    async function playlistOf(input: Input): Promise<string> {
      const master = await (await fetch(input.playback.hls)).text();
      const path = master.split("\n").find((line) => line !== "" && !line.startsWith("#"));
      return path === undefined ? "" : (await fetch(new URL(path, input.playback.hls))).text();
    }

    /** Resolves with the number of the last segment listed. */
    async function lastOf(input: Input): Promise<number> {
      const playlist = await playlistOf(input);
      return Number(/#EXT-X-MEDIA-SEQUENCE:(\d+)/.exec(playlist)?.[1] ?? 0) + playlist.split("#EXTINF").length - 2;
    }
  },
);
