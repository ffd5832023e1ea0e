import { spawn } from "node:child_process";
import type { Writable } from "node:stream";

interface Decoder {
  /** A fragmented MP4 file. Never emits "error": the rest is discarded after the first frame. */
  input: Writable;
  /** Resolves with the time when the first frame was decoded, by performance.now(). Rejects if there is none. */
  firstFrame: Promise<number>;
  stop(): void;
}

/** Decodes one frame with the system's ffmpeg, which is started before the data arrives, like a player's decoder. */
export function startDecoder(): Decoder {
  const args = [
    // Without these options ffmpeg reads 20 frames before the first one, to estimate the frame rate.
    ..."-hide_banner -loglevel error -fpsprobesize 0 -threads 1".split(" "),
    ..."-f mp4 -i pipe:0 -map 0:v:0 -frames:v 1 -fps_mode passthrough -f rawvideo pipe:1".split(" "),
  ];
  const child = spawn("ffmpeg", args, { stdio: ["pipe", "pipe", "pipe"] });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  let words = "";
  child.stdin.on("error", () => {});
  child.stderr.setEncoding("utf8").on("data", (text: string) => (words = (words + text).slice(-4096)));
  child.stdout.once("data", () => resolve(performance.now())).resume();
  child.on("error", reject).on("close", () => reject(new Error(`ffmpeg decoded no frame: ${words}`)));
  // The caller may fail before it waits for the frame.
  promise.catch(() => {});
  return { input: child.stdin, firstFrame: promise, stop: () => void child.kill("SIGKILL") };
}
