import { join } from "node:path";
import type { MediaTools } from "../../media/index.ts";

/** A file that contains a section of a recording. */
export interface CombinedFile {
  path: string;
  video: boolean;
  audio: boolean;
  /** Seconds. */
  duration: number;
  /** Frames per second; 0 without video. */
  fps: number;
}

interface CombineDeps {
  tools: Pick<MediaTools, "ffmpeg">;
  /** Folder of the output. */
  folder: string;
  /** Frames are scaled to fit this size; absent: no video. */
  picture?: { width: number; height: number };
  signal: AbortSignal;
  /** Maximum number of inputs per ffmpeg run: all are open concurrently. Default 12. */
  atOnce?: number;
}

const RATES = [24_000 / 1001, 24, 25, 30_000 / 1001, 30, 50, 60_000 / 1001, 60];
/** The nearest standard frame rate. */
const usualRate = (fps: number): number =>
  RATES.reduce((best, rate) => (Math.abs(rate - fps) < Math.abs(best - fps) ? rate : best));

const AT_ONCE = 12;
const SAMPLE_RATE = 48_000;
const HOUR_MS = 3_600_000;

/**
 * Concatenates files whose codecs, sizes or sampling rates differ into one, transcoded without visible loss. Missing
 * video is black, missing audio is silent. Resolves with the path.
 */
export async function combineFiles(files: readonly CombinedFile[], parts: CombineDeps): Promise<string> {
  const { atOnce = AT_ONCE } = parts;
  let left = [...files];
  for (let round = 0; ; round++) {
    const next: CombinedFile[] = [];
    for (let i = 0; i < left.length; i += atOnce)
      next.push(await combineSome(left.slice(i, i + atOnce), `${round}-${i}.mp4`, parts));
    left = next;
    if (left.length === 1) return left[0]!.path;
  }
}

async function combineSome(
  files: readonly CombinedFile[],
  name: string,
  { tools, folder, picture: size, signal }: CombineDeps,
): Promise<CombinedFile> {
  const path = join(folder, name);
  const picture = size && { ...size, fps: usualRate(Math.max(...files.map(({ fps }) => fps))) };
  const audio = files.some((file) => file.audio);
  const duration = files.reduce((sum, file) => sum + file.duration, 0);
  const graph = files.flatMap((file, i) => [
    ...(picture === undefined ? [] : [`${pictureOf(file, i, picture)}[v${i}]`]),
    ...(audio ? [`${soundOf(file, i)}[a${i}]`] : []),
  ]);
  const pads = files.map((_, i) => `${picture === undefined ? "" : `[v${i}]`}${audio ? `[a${i}]` : ""}`).join("");
  graph.push(
    `${pads}concat=n=${files.length}:v=${picture === undefined ? 0 : 1}:a=${audio ? 1 : 0}${picture === undefined ? "" : "[v]"}${audio ? "[a]" : ""}`,
  );
  const encode = [
    ...(picture === undefined
      ? []
      : [
          "-map",
          "[v]",
          "-c:v",
          "libx264",
          "-preset",
          "veryfast",
          "-crf",
          "20",
          "-profile:v",
          "high",
          "-g",
          String(Math.round(picture.fps * 2)),
          "-pix_fmt",
          "yuv420p",
        ]),
    ...(audio ? ["-map", "[a]", "-c:a", "aac", "-b:a", "192k"] : []),
  ];
  await tools.ffmpeg({
    args: [
      ...files.flatMap((file) => ["-i", file.path]),
      "-filter_complex",
      graph.join(";"),
      ...encode,
      "-map_metadata",
      "-1",
      "-movflags",
      "+faststart",
      "-y",
      path,
    ],
    reads: files.map((file) => file.path),
    writes: folder,
    urgency: "background",
    signal,
    wallMs: HOUR_MS + duration * 10_000,
    cpuSeconds: 3600 + duration * 20,
  });
  return { path, video: picture !== undefined, audio, duration, fps: picture?.fps ?? 0 };
}

function pictureOf(
  { video, duration }: CombinedFile,
  i: number,
  { width, height, fps }: { width: number; height: number; fps: number },
): string {
  if (!video) return `color=c=black:s=${width}x${height}:r=${fps}:d=${duration.toFixed(3)},format=yuv420p,setsar=1`;
  return `[${i}:v]scale=${width}:${height}:force_original_aspect_ratio=decrease,pad=${width}:${height}:-1:-1,setsar=1,fps=${fps},format=yuv420p`;
}

function soundOf({ audio, duration }: CombinedFile, i: number): string {
  if (!audio) return `anullsrc=r=${SAMPLE_RATE}:cl=stereo,atrim=duration=${duration.toFixed(3)}`;
  return `[${i}:a]aresample=${SAMPLE_RATE}:async=1000,aformat=sample_fmts=fltp:channel_layouts=stereo`;
}
