import { spawn } from "node:child_process";
import { join } from "node:path";

/**
 * Resolves with a 1080p30 H.264 video at 8 Mbit/s, a key frame every two seconds, with audio. It has motion and noise:
 * harder to encode than a talking head and easier than sport.
 */
export async function makeSourceClip(folder: string, seconds: number): Promise<string> {
  const path = join(folder, `source-${seconds}.mp4`);
  const picture = `mandelbrot=size=1920x1080:rate=30:maxiter=200,noise=alls=8:allf=t,format=yuv420p[m];testsrc2=size=640x360:rate=30,format=yuv420p[t];[m][t]overlay=x=1200:y=640,trim=duration=${seconds}`;
  await ffmpeg([
    "-filter_complex",
    `${picture}[v]`,
    "-f",
    "lavfi",
    "-i",
    `anoisesrc=color=pink:amplitude=0.3:duration=${seconds}:sample_rate=48000`,
    "-map",
    "[v]",
    "-map",
    "0:a",
    "-c:v",
    "libx264",
    "-preset",
    "superfast",
    "-b:v",
    "8M",
    "-maxrate",
    "10M",
    "-bufsize",
    "16M",
    "-g",
    "60",
    "-keyint_min",
    "60",
    "-sc_threshold",
    "0",
    "-c:a",
    "aac",
    "-b:a",
    "128k",
    "-ac",
    "2",
    "-movflags",
    "+faststart",
    "-t",
    String(seconds),
    path,
  ]);
  return path;
}

/** Runs the system's ffmpeg. Resolves with its standard output. */
export function ffmpeg(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("ffmpeg", ["-hide_banner", "-loglevel", "error", "-nostdin", "-y", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    let words = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (words = (words + text).slice(-4096)));
    child.on("error", (err) => reject(new Error(`ffmpeg failed to start: apt-get install ffmpeg (${err.message})`)));
    child.on("close", (code) =>
      code === 0
        ? resolve(output)
        : reject(new Error(`ffmpeg ${args.join(" ")}: ${words || `exited with code ${code}`}`)),
    );
  });
}

export const ffmpegVersion = async (): Promise<string> =>
  /version (\S+)/.exec(await ffmpeg(["-version"]))?.[1] ?? "unknown";
