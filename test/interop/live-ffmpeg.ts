import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import type { Scope } from "./platform.ts";

const SOURCE = [
  "-re",
  "-f",
  "lavfi",
  "-i",
  "testsrc2=size=640x360:rate=25",
  "-re",
  "-f",
  "lavfi",
  "-i",
  "sine=frequency=440:sample_rate=48000",
];
const ENCODED = [
  "-c:v",
  "libx264",
  "-preset",
  "ultrafast",
  "-tune",
  "zerolatency",
  "-pix_fmt",
  "yuv420p",
  "-b:v",
  "800k",
  "-g",
  "50",
  "-c:a",
  "aac",
  "-b:a",
  "64k",
];

/** Encodes as HEVC instead. */
export const HEVC = [
  "-c:v",
  "libx265",
  "-preset",
  "ultrafast",
  "-tune",
  "zerolatency",
  "-x265-params",
  "log-level=none:keyint=50",
  "-pix_fmt",
  "yuv420p",
  "-b:v",
  "600k",
  "-c:a",
  "aac",
  "-b:a",
  "64k",
];

/** Publishes a test picture and a tone with ffmpeg until it is stopped, at the latest at the end of the scope. */
export function startFfmpeg(scope: Scope, target: readonly string[]) {
  const child = spawn("ffmpeg", ["-hide_banner", "-loglevel", "quiet", "-nostdin", ...SOURCE, ...ENCODED, ...target], {
    stdio: "ignore",
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", (code) => resolve(code)));
  scope.after(async () => void (child.kill("SIGKILL"), await ended));
  return { ended, stop: async () => void (child.kill("SIGINT"), await ended) };
}

/** Counts the packets of each stream. */
export const probePackets = (url: string) =>
  promisify(execFile)(
    "ffprobe",
    [
      "-hide_banner",
      "-loglevel",
      "warning",
      "-count_packets",
      "-show_entries",
      "stream=codec_type,codec_name,nb_read_packets",
      "-of",
      "json",
      url,
    ],
    { timeout: 60_000 },
  );
