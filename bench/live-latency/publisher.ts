import { spawn } from "node:child_process";
import { paintClock } from "./clock.ts";

const WIDTH = 640;
const HEIGHT = 360;
const RATE = 30;

/**
 * Publishes the clock over RTMP like an encoder tuned for low latency: no B-frames, a key frame every two seconds,
 * silent audio.
 */
export function publishClock(url: string): { ended: Promise<never>; stop(): Promise<void> } {
  const child = spawn(
    "ffmpeg",
    [
      "-hide_banner",
      "-loglevel",
      "error",
      "-f",
      "rawvideo",
      "-pix_fmt",
      "gray",
      "-video_size",
      `${WIDTH}x${HEIGHT}`,
      "-framerate",
      String(RATE),
      "-i",
      "pipe:0",
      "-f",
      "lavfi",
      "-i",
      "anullsrc=sample_rate=48000",
      "-c:v",
      "libx264",
      "-preset",
      "veryfast",
      "-tune",
      "zerolatency",
      "-pix_fmt",
      "yuv420p",
      "-g",
      String(2 * RATE),
      "-b:v",
      "2M",
      "-c:a",
      "aac",
      "-f",
      "flv",
      "-flvflags",
      "no_duration_filesize",
      url,
    ],
    { stdio: ["pipe", "ignore", "pipe"] },
  );
  let stderr = "";
  let stopped = false;
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-4096)));
  child.stdin.on("error", () => {});
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const began = performance.now();
  let frames = 0;
  const timer = setInterval(() => {
    // Sends all frames that are due, also after a delayed timer.
    while (frames < ((performance.now() - began) / 1000) * RATE) {
      frames++;
      child.stdin.write(paintClock(Date.now() % 2 ** 40, WIDTH, HEIGHT));
    }
  }, 2);
  const ended = closed.then(() =>
    stopped ? new Promise<never>(() => {}) : Promise.reject(new Error(`the publisher exited: ${stderr}`)),
  );
  ended.catch(() => {});
  return {
    ended,
    async stop() {
      stopped = true;
      clearInterval(timer);
      child.stdin.end();
      child.kill("SIGINT");
      await closed;
    },
  };
}
