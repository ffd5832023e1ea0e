import { withLeasedFiles } from "../../store/index.ts";
import type { AudioSource } from "./port.ts";
import type { MediaModel } from "../model.ts";
import { createAdtsReader } from "../../protocol/aac/index.ts";
import { audioSegment, segmentFrameCount } from "./audio-fragments.ts";
import { AUDIO_BITRATE, AUDIO_FRAME_SAMPLES, AUDIO_RATE, audioFrames } from "./audio-grid.ts";
import { type RunDeps, SourceMissing } from "./video-run.ts";

interface AudioRun {
  model: MediaModel;
  source: Pick<AudioSource, "key" | "format" | "stream"> & { start: number };
  /** Consecutive segments. */
  segments: readonly number[];
  urgency: "urgent" | "soon" | "background";
  signal: AbortSignal;
  /** See MediaRun. */
  awaited?: AbortSignal;
  onSegment(n: number, bytes: Buffer): Promise<void>;
}

/**
 * Number of frames encoded before the first stored frame, to bring the encoder to a steady state, and after the last
 * one.
 */
const LEAD_IN_FRAMES = 8;
const LEAD_OUT_FRAMES = 4;
/** The encoder's delay: its packet i starts at (i - 1) * 1024. */
const PRIMING_FRAMES = 1;
/** Seconds by which decoding starts earlier: some codecs depend on preceding audio. */
const PREROLL_SECONDS = 1;

/**
 * Encodes the AAC frames [first, …) of the segments so that they join those of other runs seamlessly. Rejects with
 * MediaRunError, SourceMissing, or the error of the callback.
 */
export async function encodeAudioRun(
  { tools, objects }: Pick<RunDeps, "tools" | "objects">,
  run: AudioRun,
): Promise<void> {
  const { key } = run.source;
  await withLeasedFiles(objects, [key], async ([path]) => {
    if (path === undefined) throw new SourceMissing(`the object ${key} does not exist`);
    await encodeFrom(path, tools, run);
  });
}

async function encodeFrom(path: string, tools: RunDeps["tools"], run: AudioRun): Promise<void> {
  const { model, source, segments, urgency, signal, awaited, onSegment } = run;
  const { first } = audioFrames(model.segments, segments[0]!);
  const last = audioFrames(model.segments, segments.at(-1)!);
  const end = last.first + last.count;
  const firstDecoded = Math.max(0, first - LEAD_IN_FRAMES);
  const seek = source.start + (firstDecoded * AUDIO_FRAME_SAMPLES) / AUDIO_RATE - PREROLL_SECONDS;
  const remainingSegments = [...segments];
  const adts = createAdtsReader();
  let skippedFrames = model.primedAudio === true && first === 0 ? 0 : first - firstDecoded + PRIMING_FRAMES;
  let segmentFrames: Buffer[] = [];
  await tools.ffmpeg({
    args: [
      "-noaccurate_seek",
      ...(seek > 0 ? ["-ss", seek.toFixed(6)] : []),
      "-copyts",
      "-start_at_zero",
      "-f",
      source.format,
      "-i",
      path,
      "-map",
      `0:${source.stream}`,
      "-af",
      audioFilter(source.start, firstDecoded, end - firstDecoded + LEAD_OUT_FRAMES),
      "-c:a",
      "aac",
      "-b:a",
      String(AUDIO_BITRATE),
      "-ac",
      "2",
      "-ar",
      String(AUDIO_RATE),
      "-map_metadata",
      "-1",
      "-f",
      "adts",
      "pipe:1",
    ],
    reads: [path],
    urgency,
    signal,
    ...(awaited && { awaited }),
    wallMs: 60_000 + segments.length * 1000,
    async onOutput(chunk) {
      for (const frame of adts.push(chunk)) {
        if (skippedFrames-- > 0 || remainingSegments.length === 0) continue;
        segmentFrames.push(frame);
        const n = remainingSegments[0]!;
        if (segmentFrames.length < segmentFrameCount(model, n)) continue;
        remainingSegments.shift();
        const bytes = audioSegment(model, n, segmentFrames);
        segmentFrames = [];
        await onSegment(n, bytes);
      }
    },
  });
  if (remainingSegments.length > 0)
    throw new SourceMissing(`the source ${source.key} has no audio for segment ${remainingSegments[0]!}`);
}

/** Returns exactly the samples of `count` frames from frame `first`: gaps before, after and inside become silence. */
function audioFilter(start: number, first: number, count: number): string {
  return [
    ...(start === 0 ? [] : [`asetpts=PTS-${start.toFixed(6)}/TB`]),
    // Resamples first, because the filter counts `first_pts` in input samples.
    `aresample=${AUDIO_RATE}`,
    // Timestamps take precedence: sample-accurate at the start, and later only if they are off by more than container
    // rounding.
    `aresample=async=1:min_comp=0.00001:min_hard_comp=0.04:first_pts=${first * AUDIO_FRAME_SAMPLES}`,
    "aformat=channel_layouts=stereo",
    "apad",
    `atrim=end_sample=${count * AUDIO_FRAME_SAMPLES}`,
  ].join(",");
}
