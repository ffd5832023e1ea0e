import { join } from "node:path";
import type { Clock, Log } from "../../kernel/index.ts";
import { withLeasedFiles, type ObjectStore } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import { deviceOptions, inputFilters, type MediaTools } from "../media/index.ts";
import type { HardwareEncoder, MediaModel, VideoRendition } from "../model.ts";
import { followFiles } from "./growing-files.ts";
import { InitMismatch } from "./segment-store.ts";
import { createStallWatch, EncoderStalled } from "./stall-watch.ts";
import { createSegmentAssembler, FramesMissing, videoInitSegment, type SegmentAssembler } from "./restamp.ts";
import type { Scratch } from "../scratch.ts";
import { createMp4SegmentReader } from "../../protocol/mp4/index.ts";
import { framesOf, videoGraph, type RenditionSegments } from "./video-graph.ts";
import { videoOptions } from "./video-options.ts";

export interface RunDeps {
  tools: MediaTools;
  objects: ObjectStore;
  clock: Clock;
  log: Log;
  scratch: Scratch;
  /** Milliseconds without output after which a hardware encoder has failed. Default 30 s. */
  stallMs?: number;
}

interface VideoRun {
  model: MediaModel;
  /** At least one. Without segments only the initialization segment is created. */
  requested: readonly RenditionSegments[];
  /** Uses the software encoder, even if the video has a hardware encoder. Default false. */
  software?: boolean;
  urgency: "urgent" | "soon" | "background";
  signal: AbortSignal;
  /** See MediaRun. */
  awaited?: AbortSignal;
  /** Called as soon as each is available, in order within a rendition. */
  onInit(rendition: VideoRendition, bytes: Buffer): Promise<void>;
  onSegment(rendition: VideoRendition, n: number, bytes: Buffer): Promise<void>;
  /** Called for each chunk of a segment before `onSegment`. `isFirst`: chunks received so far are void. */
  onChunk?: ((rendition: VideoRendition, n: number, chunk: Buffer, isFirst: boolean) => void) | undefined;
}

/** The source or the watermark image is missing. */
export class SourceMissing extends Error {
  override readonly name = "SourceMissing";
}

/**
 * Seconds by which decoding starts before the first frame. "none": at the first frame itself, which costs nothing if it
 * is a key frame, but may be too late if the index is inexact. The next value is half a second, for a frame of long
 * duration; if that was not enough, larger values follow.
 */
const PREROLLS = ["none", 0.5, 60, Infinity] as const;
/** Longer than a loaded machine needs to decode from a distant key frame. */
const STALL_MS = 30_000;
/** Fraction of a frame that is added to a seek position, because the time of a key frame may have been rounded up. */
const SEEK_MARGIN_FRAMES = 1 / 3;

/**
 * Encodes everything in `requested` in one ffmpeg process; if its hardware encoder stops responding, the software
 * encoder encodes the rest. Rejects with MediaRunError, Mp4Error, SourceMissing, or the error of a callback.
 */
export async function encodeVideoRun(deps: RunDeps, run: VideoRun): Promise<void> {
  const remaining = new Map(run.requested.map(({ rendition, segments }) => [rendition, [...segments]]));
  const { fps } = run.model.segments;
  const first = Math.min(...run.requested.map(({ segments }) => segments[0] ?? 0));
  const { from: begin } = framesOf(run.model, first);
  const isComplete = () => [...remaining.values()].every(({ length }) => length === 0);
  let hasStarted = false;
  let hardware = run.software === true ? undefined : await hardwareOf(deps, run);
  for (const preroll of PREROLLS) {
    const isExact = preroll === "none";
    // A deinterlacer needs earlier fields; at the very start of the file there are none.
    if (isExact && (begin === 0 || run.model.video!.interlaced)) continue;
    const from = isExact ? begin : Math.max(0, begin - Math.ceil((preroll * fps.num) / fps.den));
    const encodePending = () => {
      const pendingOutputs = run.requested
        .map(({ rendition }) => ({ rendition, segments: [...remaining.get(rendition)!] }))
        .filter(({ segments }) => !hasStarted || segments.length > 0);
      hasStarted = true;
      return runOnce(
        deps,
        { ...run, hardware },
        pendingOutputs,
        { from, exact: isExact },
        (rendition) => void remaining.get(rendition)!.shift(),
      );
    };
    await encodePending()
      .catch(async (err: unknown) => {
        if (hardware === undefined || !(await canFallBack(deps, run.model, hardware, err))) throw err;
        hardware = undefined;
        hasStarted &&= hasSegments(run);
        if (!hasStarted || !isComplete()) await encodePending();
      })
      .catch((err: unknown) => {
        if (!isExact || !(err instanceof FramesMissing)) throw err;
      });
    if (isComplete()) return;
    if (from === 0) break;
    deps.log.debug({ source: run.model.source.key, first, preroll }, "stream: frames missing, seeking further back");
  }
  throw new SourceMissing(`the source ${run.model.source.key} has no video frames for segment ${first}`);
}

const hasSegments = ({ requested }: Pick<VideoRun, "requested">) =>
  requested.some(({ segments }) => segments.length > 0);

/** Returns the hardware encoder of the run, if it has one and this process can use it. Throws encoderMissing. */
async function hardwareOf(
  { tools }: RunDeps,
  { model: { h264Encoder, softwareFallback }, requested }: VideoRun,
): Promise<HardwareEncoder | undefined> {
  if (h264Encoder === undefined || requested.every(({ rendition: { codec } }) => codec !== "h264")) return undefined;
  const { selected, tested } = (await tools.ready()).h264;
  if (selected().encoder === h264Encoder) return h264Encoder;
  const { reason = "another encoder is selected" } = await tested;
  if (selected().encoder === h264Encoder) return h264Encoder;
  // Segments of another encoder do not fit initialization segments that contain only the parameter sets of this one.
  if (softwareFallback !== true) throw streamErrors.encoderMissing({ encoder: h264Encoder, reason });
  return undefined;
}

/** True if the software encoder can encode the rest. An encoder that no longer responds is not used again. */
async function canFallBack(
  { tools, log }: RunDeps,
  { softwareFallback }: MediaModel,
  encoder: HardwareEncoder,
  err: unknown,
): Promise<boolean> {
  if (err instanceof EncoderStalled && (await tools.ready()).h264.deselect(encoder, err.message))
    log.error({ encoder }, "encode: hardware encoder stopped responding; this process uses the software encoder");
  // The software encoder encoded the first segments, or the driver has been replaced.
  return softwareFallback === true && (err instanceof EncoderStalled || err instanceof InitMismatch);
}

/**
 * Where decoding starts, as a grid frame. `exact`: a run whose first frame is later fails instead of repeating that
 * frame from there.
 */
interface StartPoint {
  from: number;
  exact: boolean;
}

/** A run with the encoder it uses for H.264; undefined: the software encoder. */
type AttemptedRun = VideoRun & { hardware: HardwareEncoder | undefined };

async function runOnce(
  deps: RunDeps,
  run: AttemptedRun,
  requested: readonly RenditionSegments[],
  startPoint: StartPoint,
  onSegment: (rendition: VideoRendition) => void,
): Promise<void> {
  const { source, watermark } = run.model;
  const keys = [source.key, ...(watermark === undefined ? [] : [watermark.key])];
  await withLeasedFiles(deps.objects, keys, async (paths) => {
    const missing = paths.indexOf(undefined);
    if (missing !== -1) throw new SourceMissing(`the object ${keys[missing]} does not exist`);
    await encodeFrom(deps, run, requested, startPoint, onSegment, paths as string[]);
  });
}

async function encodeFrom(
  deps: RunDeps,
  run: AttemptedRun,
  requested: readonly RenditionSegments[],
  { from, exact: isExact }: StartPoint,
  onSegment: (rendition: VideoRendition) => void,
  inputPaths: string[],
): Promise<void> {
  const { tools, scratch } = deps;
  const { model, urgency, signal, awaited, hardware } = run;
  const { tonemaps } = await tools.ready();
  const hardwareFor = ({ codec }: VideoRendition) => (codec === "h264" ? hardware : undefined);
  const [source, watermark] = inputPaths as [string, ...string[]];
  const isInitOnly = requested.every(({ segments }) => segments.length === 0);
  const graph = videoGraph(
    model,
    isInitOnly ? requested.map(({ rendition }) => ({ rendition, segments: [0] })) : requested,
    {
      tonemap: model.video?.hdr !== undefined && (await tonemaps()),
      ...(!isExact && { from }),
      ...(watermark !== undefined && { watermark: 1 }),
    },
  );
  const seek =
    model.source.start +
    ((isExact ? from + SEEK_MARGIN_FRAMES : from) * model.segments.fps.den) / model.segments.fps.num;
  const inputs = [
    ...(hardware === undefined ? [] : deviceOptions(hardware)),
    // Accurate seeking would drop a frame that is still visible when the segment starts.
    "-noaccurate_seek",
    ...(seek > 0 ? ["-ss", seek.toFixed(6)] : []),
    "-copyts",
    "-start_at_zero",
    "-f",
    model.source.format,
    "-i",
    source,
    ...(watermark === undefined ? [] : ["-f", "png_pipe", "-i", watermark]),
    "-filter_complex",
    [
      graph.filter,
      ...requested.flatMap(({ rendition }, i) =>
        hardwareFor(rendition) === undefined ? [] : [`${graph.pads[i]!}${inputFilters(hardware!)}[h${i}]`],
      ),
    ].join(";"),
  ];
  const outputArgs = (targets: readonly string[]) =>
    requested.flatMap(({ rendition }, i) => [
      "-map",
      hardwareFor(rendition) === undefined ? graph.pads[i]! : `[h${i}]`,
      ...(isInitOnly ? ["-frames:v", "1"] : []),
      ...videoOptions(rendition, model, hardwareFor(rendition)),
      targets[i]!,
    ]);
  const stallWatch = hardware === undefined ? undefined : createStallWatch(hardware, deps.stallMs ?? STALL_MS);
  const outputHandlers = requested
    .map((one) => createOutputHandler(run, one, onSegment))
    .map((handle) => stallWatch?.around(handle) ?? handle);
  const runSignal = stallWatch === undefined ? signal : AbortSignal.any([signal, stallWatch.signal]);
  const command = {
    reads: inputPaths,
    urgency,
    signal: runSignal,
    ...(stallWatch && { onStart: stallWatch.start }),
    ...(awaited && { awaited }),
    ...boundsOf(model, requested),
  };
  if (requested.length === 1) {
    const ffmpegRun = tools.ffmpeg({
      ...command,
      args: [...inputs, ...outputArgs(["pipe:1"])],
      onOutput: outputHandlers[0]!,
    });
    await (stallWatch?.until(ffmpegRun) ?? ffmpegRun);
    return;
  }
  const folder = await scratch.create("encode");
  const outputFailure = new AbortController();
  try {
    const paths = requested.map(({ rendition }) => join(folder.path, `${rendition.name}.mp4`));
    const ffmpegRun = tools.ffmpeg({
      ...command,
      args: [...inputs, "-y", ...outputArgs(paths)],
      writes: folder.path,
      signal: AbortSignal.any([runSignal, outputFailure.signal]),
    });
    const following = followFiles(
      paths.map((path, i) => ({ path, onData: outputHandlers[i]! })),
      { clock: deps.clock, done: ffmpegRun },
    );
    // Any failure while reading stops the encoder.
    following.catch((err: unknown) => outputFailure.abort(err));
    const watchedRun = stallWatch?.until(ffmpegRun) ?? ffmpegRun;
    const [ffmpegResult, followResult] = await Promise.allSettled([watchedRun, following]);
    if (followResult.status === "rejected") throw followResult.reason;
    if (ffmpegResult.status === "rejected") throw ffmpegResult.reason;
  } finally {
    await folder.remove();
  }
}

function createOutputHandler(
  { model, onInit, onSegment, onChunk }: VideoRun,
  { rendition, segments }: RenditionSegments,
  done: (rendition: VideoRendition) => void,
): (chunk: Buffer) => Promise<void> {
  const pieces = createMp4SegmentReader();
  const remainingSegments = [...segments];
  let assembler: SegmentAssembler | undefined;
  let chunks: Buffer[] = [];
  return async (output) => {
    for (const { kind, bytes } of pieces.push(output)) {
      if (kind === "init") {
        await onInit(rendition, videoInitSegment(bytes, rendition, model));
        continue;
      }
      const [n] = remainingSegments;
      if (n === undefined) continue;
      assembler ??= createSegmentAssembler(n, rendition, model);
      const chunk = await assembler.add(bytes);
      if (chunk === undefined) continue;
      onChunk?.(rendition, n, chunk, chunks.length === 0);
      chunks.push(chunk);
      if (!assembler.isComplete()) continue;
      const segment = Buffer.concat(chunks);
      remainingSegments.shift();
      assembler = undefined;
      chunks = [];
      await onSegment(rendition, n, segment);
      done(rendition);
    }
  };
}

/** Generous limits that end only stuck processes: a slow machine under load must not appear stuck. */
function boundsOf(
  model: MediaModel,
  requested: readonly RenditionSegments[],
): { wallMs: number; cpuSeconds: number; memoryMb: number; fileBytes: number } {
  const pixels = requested.reduce(
    (sum, { rendition: { width, height } }) => sum + width * height,
    model.video!.width * model.video!.height,
  );
  const frames = Math.max(1, ...requested.map(({ segments }) => segments.length)) * model.segments.framesPerSegment;
  const codecs = requested.some(({ rendition }) => rendition.codec !== "h264") ? 8 : 1;
  // A 1080p ladder takes about 1.5 microseconds of CPU time per pixel for ten seconds; this is a hundred times as much.
  const cpuSeconds = 120 + Math.ceil((pixels * frames * codecs) / 2_000_000);
  return {
    wallMs: 60_000 + cpuSeconds * 1000,
    cpuSeconds,
    memoryMb: 4096 + Math.ceil(pixels / 1000) * codecs,
    fileBytes: 2 * 2 ** 30,
  };
}
