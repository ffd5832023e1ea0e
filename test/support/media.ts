import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync } from "node:fs";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/**
 * Small videos, generated on first use and stored in the system's temp directory (or TEST_CLIPS_FOLDER) under the hash
 * of their recipe, so that test files, runs and processes share them. Video is ffmpeg's testsrc2 (every frame differs),
 * audio is a sine.
 *
 * test("cuts a segment", needsFfmpeg, async (t) => { const path = await clip({ seconds: 6, fps: "30000/1001" }); ...
 *     });
 */
export interface ClipRecipe {
  /** Default 4. */
  seconds?: number;
  /** Default "320x180". */
  size?: `${number}x${number}`;
  /** Default "30". */
  fps?: string;
  /** Encoder and its options; false means no video. Default libx264, ultrafast, yuv420p. */
  video?: string[] | false;
  /** Encoder and its options; false means no audio. Default AAC, 64 kb/s, stereo. */
  audio?: string[] | false;
  /** Default 2. */
  keyframeSeconds?: number;
  /** Filter for the generated video. */
  filter?: string;
  /** File extension that selects the container; default "mp4". */
  extension?: string;
  /** Further output options. */
  output?: string[];
  /**
   * Inputs and maps that replace the generated video and audio. `video` and `audio` still specify how they are encoded.
   */
  inputs?: string[];
  /** Degrees clockwise, written into the track header of an mp4 or mov: players rotate the video. */
  rotate?: 90 | 180 | 270;
  /** Fraction of the file to keep, 0 to 1. */
  keep?: number;
}

export const X264 = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"];
export const AAC = ["-c:a", "aac", "-b:a", "64k", "-ac", "2", "-ar", "48000"];

/** Recipes shared by several domains. */
export const mediaClips = {
  /** 4 s, 320x180, 30 fps, key frame every 2 s, AAC. */
  plain: {},
  /** 29.97 fps, three segments of 4.004 s. */
  ntsc: { seconds: 10, fps: "30000/1001" },
  sixty: { seconds: 5, fps: "60" },
  vertical: { size: "180x320" },
  silent: { audio: false },
  rotated: { rotate: 90 },
  soundOnly: { video: false, extension: "m4a" },
  hd: { seconds: 6, size: "1280x720" },
  webm: {
    extension: "webm",
    video: ["-c:v", "libvpx", "-b:v", "300k", "-deadline", "realtime", "-cpu-used", "8"],
    audio: ["-c:a", "libopus", "-b:a", "64k"],
  },
  transportStream: { extension: "ts" },
} as const satisfies Record<string, ClipRecipe>;

const pathOf = (name: string) =>
  (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
const missing = ["ffmpeg", "ffprobe"].filter((name) => pathOf(name) === undefined);

/** Options for a test or suite that requires ffmpeg: skipped if it is missing; with REQUIRE_ALL=1 it runs and fails. */
export const needsFfmpeg: { skip: string | false } = {
  skip: missing.length > 0 && process.env["REQUIRE_ALL"] !== "1" && `not installed: ${missing.join(", ")}`,
};

/** Like needsFfmpeg, for additional programs. */
export const needsPrograms = (...names: string[]): { skip: string | false } => {
  const absent = [...missing, ...names.filter((name) => pathOf(name) === undefined)];
  return { skip: absent.length > 0 && process.env["REQUIRE_ALL"] !== "1" && `not installed: ${absent.join(", ")}` };
};

/** Incremented when the same recipe produces a different file. */
const GENERATION = 1;
const FOLDER = join(process.env["TEST_CLIPS_FOLDER"] ?? tmpdir(), `reelpost-clips-${process.getuid?.() ?? "user"}`);
const clips = new Map<string, Promise<string>>();

/** Resolves with the path of the clip; read-only, since it is shared. */
export function clip(recipe: ClipRecipe = {}): Promise<string> {
  const extension = recipe.extension ?? "mp4";
  const hash = createHash("sha256")
    .update(JSON.stringify([GENERATION, Object.entries(recipe).sort(([a], [b]) => (a < b ? -1 : 1))]))
    .digest("hex")
    .slice(0, 24);
  const path = join(FOLDER, `${hash}.${extension}`);
  const before = clips.get(path);
  if (before !== undefined) return before;
  const made = existsSync(path) ? Promise.resolve(path) : make(recipe, path, extension);
  clips.set(path, made);
  return made;
}

/** Creates the clip atomically, since another process may be looking for it. */
async function make(recipe: ClipRecipe, path: string, extension: string): Promise<string> {
  mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
  const draft = join(FOLDER, `draft-${process.pid}-${randomBytes(4).toString("hex")}.${extension}`);
  try {
    await runFfmpeg([...clipArgs(recipe), draft]);
    if (recipe.rotate !== undefined) await writeFile(draft, turned(await readFile(draft), recipe.rotate));
    if (recipe.keep !== undefined) {
      const whole = await readFile(draft);
      await writeFile(draft, whole.subarray(0, Math.floor(whole.length * recipe.keep)));
    }
    await rename(draft, path);
    return path;
  } catch (err) {
    await rm(draft, { force: true });
    clips.delete(path);
    throw err;
  }
}

function clipArgs({
  seconds = 4,
  size = "320x180",
  fps = "30",
  video = X264,
  audio = AAC,
  keyframeSeconds = 2,
  filter,
  output = [],
  inputs,
}: ClipRecipe): string[] {
  const pictures =
    inputs === undefined && video !== false
      ? ["-f", "lavfi", "-i", `testsrc2=size=${size}:rate=${fps}:duration=${seconds}`]
      : [];
  const sound =
    inputs === undefined && audio !== false
      ? ["-f", "lavfi", "-i", `sine=frequency=440:beep_factor=4:sample_rate=48000:duration=${seconds}`]
      : [];
  return [
    ...pictures,
    ...sound,
    ...(inputs ?? []),
    ...(video === false
      ? ["-vn"]
      : [
          ...(filter === undefined ? [] : ["-vf", filter]),
          ...video,
          "-force_key_frames",
          `expr:gte(t,n_forced*${keyframeSeconds})`,
        ]),
    ...(audio === false ? ["-an"] : audio),
    ...output,
  ];
}

/** Runs ffmpeg or ffprobe without a sandbox and returns its standard output. Rejects with its messages. */
export function runFfmpeg(args: string[], program: "ffmpeg" | "ffprobe" = "ffmpeg"): Promise<Buffer> {
  const executable = pathOf(program);
  if (executable === undefined)
    return Promise.reject(new Error(`${program} is not installed: node scripts/system.ts test`));
  const common =
    program === "ffmpeg"
      ? ["-hide_banner", "-loglevel", "error", "-nostdin", "-y"]
      : ["-hide_banner", "-loglevel", "error"];
  return new Promise((resolve, reject) => {
    const child = spawn(executable, [...common, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: 120_000,
      killSignal: "SIGKILL",
    });
    const output: Buffer[] = [];
    let words = "";
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (words = (words + text).slice(-8192)));
    child
      .on("error", reject)
      .on("close", (code) =>
        code === 0
          ? resolve(Buffer.concat(output))
          : reject(new Error(`${program} ${args.join(" ")}: ${words || `exited with code ${code}`}`)),
      );
  });
}

/**
 * Counts the frames of the first video track by decoding them with ffmpeg. (ffprobe's -count_frames omits the last one
 * of a truncated file.)
 */
export async function countFrames(path: string): Promise<number> {
  const listed = await runFfmpeg(["-i", path, "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "framecrc", "-"]);
  return listed
    .toString()
    .split("\n")
    .filter((line) => /^\d/.test(line)).length;
}

/**
 * Writes the matrix {a b u c d v x y w} of every track header (ISO 14496-12 8.3.2) into `file`, so that players rotate
 * the video.
 */
function turned(file: Buffer, degrees: 90 | 180 | 270): Buffer {
  const [a, b, c, d] = ({ 90: [0, 1, -1, 0], 180: [-1, 0, 0, -1], 270: [0, -1, 1, 0] } as const)[degrees];
  for (let at = file.indexOf("tkhd", 0, "latin1"); at !== -1; at = file.indexOf("tkhd", at + 4, "latin1")) {
    const matrix = at + 4 + (file[at + 4] === 1 ? 52 : 40);
    for (const [i, value] of [
      [0, a],
      [1, b],
      [3, c],
      [4, d],
    ] as const)
      file.writeInt32BE(value * 65_536, matrix + 4 * i);
  }
  return file;
}
