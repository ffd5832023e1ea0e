import { spawn } from "node:child_process";

/**
 * Creates a sample video: `seconds` of ffmpeg's test pattern, 1280x720, with a quiet tone. Rejects with ffmpeg's
 * message.
 */
export function makeClip(path: string, seconds: number): Promise<void> {
  const child = spawn(
    "ffmpeg",
    [
      "-hide_banner",
      "-loglevel",
      "error",
      "-nostdin",
      "-y",
      "-f",
      "lavfi",
      "-i",
      `testsrc2=size=1280x720:rate=30:duration=${seconds}`,
      "-f",
      "lavfi",
      "-i",
      `sine=frequency=330:beep_factor=2:sample_rate=48000:duration=${seconds}`,
      "-af",
      "volume=0.2",
      "-c:a",
      "aac",
      "-ac",
      "2",
      "-c:v",
      "libx264",
      "-preset",
      "veryfast",
      "-pix_fmt",
      "yuv420p",
      "-movflags",
      "+faststart",
      path,
    ],
    { stdio: ["ignore", "ignore", "pipe"], timeout: 120_000, killSignal: "SIGKILL" },
  );
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (words = (words + text).slice(-2000)));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) =>
      code === 0
        ? resolve()
        : reject(new Error(`ffmpeg could not make a clip: ${words.trim() || `it exited with code ${code}`}`)),
    );
  });
}
