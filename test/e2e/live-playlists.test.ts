import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { push, rtmp, srt } from "../faults/live/publishers.ts";
import { startLiveServer } from "../faults/live/server.ts";
import { checkLowLatencyHls } from "../support/hls/checker.ts";
import { clip, needsFfmpeg } from "../support/media.ts";

const SECONDS = 14;
const isEnough = ({ segments, hints }: { segments: number; hints: number }) => segments >= 9 && hints >= 60;
const lowLatency = (manifest: string) => `${manifest}?protocol=llhls`;

describe("low-latency HLS conforms to rfc8216bis", needsFfmpeg, () => {
  for (const [name, { target, options, frameRate }] of Object.entries({
    "RTMP with B-frames at 30 fps, 44.1 kHz audio": {
      target: rtmp,
      frameRate: 30,
      options: {
        fps: "30",
        video: ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "2", "-b:v", "400k"],
        audio: ["-ar", "44100", "-c:a", "aac", "-b:a", "96k"],
      },
    },
    "SRT at 29.97 fps, 48 kHz audio": {
      target: srt,
      frameRate: 29.97,
      options: {
        fps: "30000/1001",
        video: ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-bf", "0"],
        audio: ["-ar", "48000", "-c:a", "aac"],
      },
    },
  })) {
    test(name, { timeout: 240_000 }, async (t) => {
      const server = await startLiveServer(t);
      const input = await server.input("checked");
      push(t, await clip({ seconds: SECONDS + 25, keyframeSeconds: 2, size: "480x270", ...options }), target(input));
      await server.onAir(input);
      const end = new AbortController();
      const counts = { playlists: 0, segments: 0, parts: 0, hints: 0 };
      const checking = checkLowLatencyHls(lowLatency(input.playback.hls), end.signal, counts);
      const start = performance.now();
      const seconds = () => (performance.now() - start) / 1000;
      // On a busy machine, the checker may skip parts and need a longer time.
      while (seconds() < SECONDS || (!isEnough(counts) && seconds() < SECONDS + 15)) await sleep(200);
      end.abort();
      const { findings, variants } = await checking;
      t.diagnostic(JSON.stringify({ ...counts, variants }));
      assert.deepEqual(findings, []);
      assert.ok(isEnough(counts), JSON.stringify(counts));
      for (const variant of variants) assert.equal(variant.frameRate, frameRate);
    });
  }
});
