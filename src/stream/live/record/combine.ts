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
  frameSize?: { width: number; height: number };
  signal: AbortSignal;
  /** Maximum number of inputs per ffmpeg run: all are open concurrently. Default 12. */
  maxInputs?: number;
}

const RATES = [24_000 / 1001, 24, 25, 30_000 / 1001, 30, 50, 60_000 / 1001, 60];
/** Returns the nearest standard frame rate. */
const usualRate = (fps: number): number =>
  RATES.reduce((best, rate) => (Math.abs(rate - fps) < Math.abs(best - fps) ? rate : best));

const MAX_INPUTS = 12;
const SAMPLE_RATE = 48_000;
const HOUR_MS = 3_600_000;

/**
 * Concatenates files whose codecs, sizes or sampling rates differ into one, transcoded without visible loss. Missing
 * video is black; missing audio is silent. Resolves with the path.
 */
export async function combineFiles(files: readonly CombinedFile[], deps: CombineDeps): Promise<string> {
  const { maxInputs = MAX_INPUTS } = deps;
  let remaining = [...files];
  for (let round = 0; ; round++) {
    const next: CombinedFile[] = [];
    for (let i = 0; i < remaining.length; i += maxInputs)
      next.push(await combineSome(remaining.slice(i, i + maxInputs), `${round}-${i}.mp4`, deps));
    remaining = next;
    if (remaining.length === 1) return remaining[0]!.path;
  }
}

async function combineSome(
  files: readonly CombinedFile[],
  name: string,
  { tools, folder, frameSize: size, signal }: CombineDeps,
): Promise<CombinedFile> {
  const path = join(folder, name);
  const videoFormat = size && { ...size, fps: usualRate(Math.max(...files.map(({ fps }) => fps))) };
  const audio = files.some((file) => file.audio);
  const duration = files.reduce((sum, file) => sum + file.duration, 0);
  const graph = files.flatMap((file, i) => [
    ...(videoFormat === undefined ? [] : [`${pictureOf(file, i, videoFormat)}[v${i}]`]),
    ...(audio ? [`${audioFilter(file, i)}[a${i}]`] : []),
  ]);
  const pads = files.map((_, i) => `${videoFormat === undefined ? "" : `[v${i}]`}${audio ? `[a${i}]` : ""}`).join("");
  graph.push(
    `${pads}concat=n=${files.length}:v=${videoFormat === undefined ? 0 : 1}:a=${audio ? 1 : 0}${videoFormat === undefined ? "" : "[v]"}${audio ? "[a]" : ""}`,
  );
  const encodeArgs = [
    ...(videoFormat === undefined
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
          String(Math.round(videoFormat.fps * 2)),
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
      ...encodeArgs,
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
  return { path, video: videoFormat !== undefined, audio, duration, fps: videoFormat?.fps ?? 0 };
}

function pictureOf(
  { video, duration }: CombinedFile,
  i: number,
  { width, height, fps }: { width: number; height: number; fps: number },
): string {
  if (!video) return `color=c=black:s=${width}x${height}:r=${fps}:d=${duration.toFixed(3)},format=yuv420p,setsar=1`;
  return `[${i}:v]scale=${width}:${height}:force_original_aspect_ratio=decrease,pad=${width}:${height}:-1:-1,setsar=1,fps=${fps},format=yuv420p`;
}

function audioFilter({ audio, duration }: CombinedFile, i: number): string {
  if (!audio) return `anullsrc=r=${SAMPLE_RATE}:cl=stereo,atrim=duration=${duration.toFixed(3)}`;
  return `[${i}:a]aresample=${SAMPLE_RATE}:async=1000,aformat=sample_fmts=fltp:channel_layouts=stereo`;
}
