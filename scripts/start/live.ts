import { spawn } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import type { Platform } from "./platform.ts";
import { printHeadline, printRow } from "./print.ts";

interface LiveInput {
  uid: string;
  rtmp: { url: string; streamKey: string };
  playback: { hls: string };
}

/** Duration of the broadcast. */
const SECONDS = 12;
const PATIENCE_MS = 30_000;
const POLL_MS = 50;

/**
 * Publishes a short test pattern over RTMP, as OBS would, plays it live, and waits for the recording. Returns the watch
 * page.
 */
export async function showBroadcast({ call, account, url }: Platform): Promise<string> {
  const path = `/accounts/${account.id}/stream/live_inputs`;
  const input = await call<LiveInput>("POST", path, {
    meta: { name: "Workshop" },
    recording: { mode: "automatic" },
    preferLowLatency: true,
  });
  const began = performance.now();
  const published = publish(`${input.rtmp.url}${input.rtmp.streamKey}`);
  const parts = await until(() => firstParts(input.playback.hls), "the broadcast cannot be watched");
  const seen = performance.now();
  printHeadline(`A broadcast of ${SECONDS} seconds, published by ffmpeg over RTMP to ${input.rtmp.url}:`);
  printRow(
    "playable",
    `${((seen - began) / 1000).toFixed(1)} s after the encoder started, as low-latency HLS in parts of ${parts.toFixed(2)} s, and over WebRTC and RTMP`,
  );
  await published;
  const ended = performance.now();
  const recording = await until(
    async () =>
      (
        await call<{ uid: string; duration: number; status: { state: string } }[]>("GET", `${path}/${input.uid}/videos`)
      ).find(({ status }) => status.state === "ready"),
    "the broadcast has left no recording",
  );
  printRow(
    "recorded",
    `${recording.duration.toFixed(1)} s, ready ${((performance.now() - ended) / 1000).toFixed(1)} s after the end, including 2 s of waiting for the publisher to reconnect`,
  );
  const watch = `${url}/${input.uid}/watch`;
  printRow("your stream key", `npx reelpost live show ${input.uid}`);
  return watch;
}

/** Resolves when publishing ends. Rejects with ffmpeg's message. */
function publish(target: string): Promise<void> {
  const child = spawn(
    "ffmpeg",
    [
      "-hide_banner",
      "-loglevel",
      "error",
      "-nostdin",
      "-re",
      "-f",
      "lavfi",
      "-i",
      `testsrc2=size=640x360:rate=30:duration=${SECONDS}`,
      "-re",
      "-f",
      "lavfi",
      "-i",
      `sine=frequency=330:beep_factor=2:sample_rate=48000:duration=${SECONDS}`,
      "-c:v",
      "libx264",
      "-preset",
      "veryfast",
      "-tune",
      "zerolatency",
      "-pix_fmt",
      "yuv420p",
      "-g",
      "60",
      "-b:v",
      "1M",
      "-af",
      "volume=0.2",
      "-c:a",
      "aac",
      "-ac",
      "2",
      "-f",
      "flv",
      target,
    ],
    { stdio: ["ignore", "ignore", "pipe"], timeout: 60_000, killSignal: "SIGKILL" },
  );
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (words = (words + text).slice(-2000)));
  const over = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0
        ? resolve()
        : reject(new Error(`ffmpeg could not publish: ${words.trim() || `it exited with code ${code}`}`)),
    );
  });
  // This promise is awaited later; it may reject before that.
  over.catch(() => {});
  return over;
}

/** Part duration in seconds; undefined before the first part. */
async function firstParts(manifest: string): Promise<number | undefined> {
  const response = await fetch(manifest);
  if (!response.ok) return undefined;
  const variant = /^[^#\s].*$/m.exec(await response.text())?.[0];
  if (variant === undefined) return undefined;
  const media = await (await fetch(new URL(variant, manifest))).text();
  const target = /PART-TARGET=([\d.]+)/.exec(media)?.[1];
  return target === undefined ? undefined : Number(target);
}

async function until<Value>(look: () => Promise<Value | undefined>, otherwise: string): Promise<Value> {
  for (const began = Date.now(); Date.now() - began < PATIENCE_MS; await sleep(POLL_MS)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`${otherwise} after ${PATIENCE_MS / 1000} s`);
}
