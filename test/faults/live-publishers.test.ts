import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createScope } from "../interop/platform.ts";
import { clip, countFrames, needsFfmpeg, X264, type ClipRecipe } from "../support/media.ts";
import { publishTags, tagsOf } from "./live/flv-publisher.ts";
import { push, rtmp, rtmpPort, type Publisher } from "./live/publishers.ts";
import { videoFrameCount, readRuns, readWhole, type RecordedTrack } from "./live/recorded.ts";
import { startLiveServer, type Input, type LiveServer } from "./live/server.ts";
import { until } from "./stream/server.ts";

const flv = (recipe: ClipRecipe = {}) =>
  clip({ seconds: 6, fps: "25", keyframeSeconds: 1, extension: "flv", ...recipe });
const TWICE = { speed: 2 };

describe("faulty publishers while another broadcast continues", { ...needsFfmpeg, concurrency: 3 }, () => {
  const scope = createScope();
  let server: LiveServer;
  let steady: Input;
  let publisher: Publisher;
  before(async () => {
    server = await startLiveServer(scope);
    steady = await server.input("steady");
    publisher = push(scope, await clip({ seconds: 40, fps: "25", keyframeSeconds: 1 }), rtmp(steady));
    await server.onAir(steady);
  });
  after(async () => {
    try {
      await publisher.stop();
      const { playback, duration } = await server.recording(steady);
      const runs = await readRuns(playback.hls);
      assert.equal(runs.length, 1);
      assert.ok(
        Math.abs(videoFrameCount(runs) - duration * 25) < 3 && duration > 5,
        `${videoFrameCount(runs)} frames in ${duration} s`,
      );
      await server.noted(steady, ["connected", "client_disconnect"]);
      assert.ok(!server.log().includes('"level":50'), server.log());
    } finally {
      await scope.close();
    }
  });

  /** Checks that there is a single run, with audio alongside its video. */
  async function oneRun(input: Input, videoFrames: number, sound = true): Promise<RecordedTrack[]> {
    const {
      playback: { hls },
    } = await server.recording(input);
    const runs = await readRuns(hls);
    assert.equal(runs.length, 1, JSON.stringify(runs));
    assert.ok(Math.abs(videoFrameCount(runs) - videoFrames) <= 1, `${videoFrameCount(runs)} of ${videoFrames} frames`);
    const whole = await readWhole(hls);
    assert.deepEqual([whole.words, whole.videoFrames], ["", videoFrameCount(runs)]);
    assert.equal(whole.audioFrames > 0, sound);
    return runs[0]!;
  }

  test("frames presented later than decoded", { timeout: 240_000 }, async () => {
    const show = await server.input("b-frames");
    const file = await clip({ seconds: 6, fps: "25", video: [...X264, "-bf", "3"] });
    const publisher = push(scope, file, rtmp(show));
    await until(async () => (await server.health(show))?.bFrames === true, "the health status reports B-frames");
    assert.equal(await publisher.ended, 0, publisher.words());
    const [videoFrames, sound] = await oneRun(show, await countFrames(file));
    assert.ok(Math.abs(videoFrames!.last - sound!.last) < 0.3, JSON.stringify([videoFrames, sound]));
  });

  test(
    "key frames that are irregular, and key frames missing for more than ten seconds",
    { timeout: 240_000 },
    async () => {
      const [loose, long] = [await server.input("here and there"), await server.input("none")];
      const files = await Promise.all([
        flv({ output: ["-force_key_frames", "0,0.4,3,3.2,5"] }),
        flv({ seconds: 20, keyframeSeconds: 100, video: [...X264, "-g", "1000", "-sc_threshold", "0"] }),
      ]);
      const pushed = [push(scope, files[0], rtmp(loose)), push(scope, files[1], rtmp(long), TWICE)];
      await until(
        async () => (await server.health(long))?.problems.includes("ERR_GOP_OUT_OF_RANGE") === true,
        "the health status reports the key frame interval",
      );
      for (const { ended, words } of pushed) assert.equal(await ended, 0, words());
      await oneRun(loose, 150);
      await oneRun(long, 500);
      assert.ok((await server.history(long)).includes("ERR_GOP_OUT_OF_RANGE"));
      assert.ok(!(await server.history(loose)).includes("ERR_GOP_OUT_OF_RANGE"));
    },
  );

  test("audio only", { timeout: 240_000 }, async () => {
    const show = await server.input("sound");
    assert.equal(await push(scope, await flv({ video: false }), rtmp(show)).ended, 0);
    const [sound] = await oneRun(show, 0);
    assert.ok(Math.abs(sound!.last - 6) < 0.2, JSON.stringify(sound));
  });

  test("video that pauses for a while", { timeout: 240_000 }, async () => {
    const [short, long] = [await server.input("short"), await server.input("long")];
    const without = (from: number, to: number, seconds: number) =>
      flv({ seconds, filter: `select=not(between(t\\,${from}\\,${to}))`, output: ["-fps_mode", "passthrough"] });
    const files = [await without(2, 6, 8), await without(3, 15, 18)] as const;
    const pushed = [push(scope, files[0], rtmp(short)), push(scope, files[1], rtmp(long), { speed: 3 })];
    for (const { ended, words } of pushed) assert.equal(await ended, 0, words());
    const [, sound] = await oneRun(short, await countFrames(files[0]));
    assert.ok(Math.abs(sound!.last - 8) < 0.2, JSON.stringify(sound));
    const runs = await readRuns((await server.recording(long)).playback.hls, 10);
    assert.deepEqual(
      runs.map((run) => run.map(({ kind }) => kind)),
      [["video", "audio"], ["audio"], ["video", "audio"]],
    );
    assert.ok(Math.abs(videoFrameCount(runs) - (await countFrames(files[1]))) <= 2, JSON.stringify(runs));
    await server.noted(long, [
      "connected",
      "new_configuration_accepted",
      "new_configuration_accepted",
      "client_disconnect",
    ]);
  });

  test("video and audio parameters that change midway, and then an unknown codec", { timeout: 240_000 }, async () => {
    const show = await server.input("changes");
    const parts = await Promise.all(
      [
        flv({ seconds: 3 }),
        flv({ seconds: 3, size: "426x240" }),
        flv({ seconds: 3, size: "426x240", audio: ["-c:a", "libmp3lame", "-b:a", "64k", "-ar", "44100"] }),
        flv({ seconds: 1, video: ["-c:v", "flv"] }),
      ].map(async (file) => tagsOf(await file)),
    );
    const publisher = await publishTags(
      scope,
      show,
      parts.flatMap((tags, i) => tags.map((tag) => ({ ...tag, time: tag.time + i * 3000 }))),
      TWICE,
    );
    await publisher.done;
    await until(
      async () => (await server.history(show)).includes("ERR_UNSUPPORTED_VIDEO_CODEC"),
      "the codec is reported",
    );
    const runs = await readRuns((await server.recording(show)).playback.hls);
    assert.deepEqual(
      runs.map(([{ size } = { size: "" }]) => size),
      ["320x180", "426x240", "426x240"],
      JSON.stringify(runs),
    );
    assert.deepEqual(
      runs.map((run) => run.at(-1)!.codec),
      ["aac", "aac", "aac"],
    );
    for (const [i, run] of runs.entries()) {
      assert.ok(Math.abs(run[0]!.packets - 75) <= 1, JSON.stringify(runs));
      assert.ok(Math.abs(run.at(-1)!.last - 3) < 0.5, `${i}: ${JSON.stringify(run)}`);
    }
  });

  test("a clock that jumps forwards and backwards", { timeout: 240_000 }, async () => {
    const show = await server.input("jumps");
    const tags = (await tagsOf(await flv({ seconds: 9 }))).map((tag) => ({
      ...tag,
      at: tag.time,
      time: tag.time < 3000 ? tag.time : tag.time < 6000 ? tag.time + 40_000 : tag.time - 4000,
    }));
    const publisher = await publishTags(scope, show, tags, TWICE);
    await publisher.done;
    publisher.end();
    const video = await server.recording(show);
    const runs = await readRuns(video.playback.hls);
    assert.equal(runs.length, 3, JSON.stringify(runs));
    assert.ok(
      Math.abs(videoFrameCount(runs) - 225) <= 3 && Math.abs(video.duration - 9) < 0.5,
      JSON.stringify([video.duration, runs]),
    );
    for (const [videoFrames, sound] of runs)
      assert.ok(Math.abs(videoFrames!.last - sound!.last) < 0.3, JSON.stringify(runs));
  });

  test("a thousand silent connections, and random data at every port", { timeout: 240_000 }, async () => {
    const port = rtmpPort(steady);
    const srtPort = Number(new URL(steady.srt.url).port);
    const idle = Array.from({ length: 1000 }, () => connect({ port, host: "127.0.0.1" }).on("error", () => {}));
    await Promise.all(
      idle.map(
        (socket) => new Promise<void>((resolve) => void socket.once("connect", resolve).once("close", () => resolve())),
      ),
    );
    const udp = createSocket("udp4");
    try {
      for (let i = 0; i < 100; i++) {
        connect({ port, host: "127.0.0.1" })
          .on("error", () => {})
          .end(Buffer.concat([Buffer.from([i % 2 === 0 ? 3 : i]), randomBytes(100 * i)]));
        // Every other packet claims to be an SRT handshake.
        const packet = randomBytes(8 + 13 * i);
        if (i % 2 === 0) packet.writeUInt32BE(0x8000_0000, 0);
        udp.send(packet, srtPort, "127.0.0.1");
      }
      const statuses = await Promise.all(
        [steady.webRTC.url, `${server.ready.url}/${"0".repeat(64)}/webRTC/publish`].flatMap((url) =>
          [
            randomBytes(5000).toString("latin1"),
            "v=0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\n",
            `v=0\r\no=- 0 0 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n${"a=rtcp-fb:* nack\r\n".repeat(5000)}`,
          ].map(
            async (body) =>
              (await fetch(url, { method: "POST", headers: { "content-type": "application/sdp" }, body })).status,
          ),
        ),
      );
      assert.ok(
        statuses.every((status) => status >= 400 && status < 500),
        statuses.join(" "),
      );
      const show = await server.input("among them");
      const publisher = push(scope, await flv(), rtmp(show));
      await server.onAir(show);
      await sleep(100);
      assert.equal(await publisher.ended, 0, publisher.words());
      await oneRun(show, 150);
    } finally {
      udp.close();
      for (const socket of idle) socket.destroy();
    }
  });
});
