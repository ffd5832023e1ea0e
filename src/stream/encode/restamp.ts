import {
  Mp4Error,
  readAvc,
  readFragments,
  readMovie,
  writeFragment,
  writeInit,
  type FragmentSample,
} from "../../protocol/mp4/index.ts";
import type { MediaModel, VideoRendition } from "../model.ts";
import { frameTicks, timescaleOf } from "./codecs.ts";
import { frameCountOf } from "./video-graph.ts";
import { delayOf } from "./video-options.ts";

const TRACK_ID = 1;

/** A segment with missing frames. */
export class FramesMissing extends Mp4Error {
  override readonly name = "FramesMissing";
}

/**
 * Returns the initialization segment common to all runs: keeps only the sample description of the encoder's output,
 * without anything that could differ between runs. Throws Mp4Error.
 */
export function videoInit(bytes: Buffer, rendition: VideoRendition, model: MediaModel): Buffer {
  const moovStart = bytes.indexOf("moov", 0, "latin1") - 4;
  const [track] = readMovie(bytes.subarray(moovStart)).tracks;
  const description = track?.descriptions[0];
  if (description === undefined) throw new Mp4Error("the encoder wrote no track");
  const entry = readAvc(description)?.entry ?? description;
  const { width, height } = rendition;
  return writeInit({
    id: TRACK_ID,
    handler: "vide",
    timescale: timescaleOf(rendition, model),
    width,
    height,
    description: entry,
    delay: delayOf(rendition, model),
  });
}

/**
 * Segment n of the encoder's output: its timestamps, relative to the start of the run, become relative to the start of
 * the video. Throws Mp4Error unless it has exactly the frames of the segment, each at its position: dropped and
 * duplicated frames must be detected.
 */
export async function videoSegment(
  bytes: Buffer,
  n: number,
  rendition: VideoRendition,
  model: MediaModel,
): Promise<Buffer> {
  const ticksPerFrame = frameTicks(rendition, model);
  const fragments = await readFragments(
    (start, length) => Promise.resolve(bytes.subarray(start, start + length)),
    bytes.length,
  );
  const [fragment] = fragments;
  const expected = frameCountOf(model, rendition, n);
  if (fragment === undefined || fragments.length > 1)
    throw new Mp4Error(`segment ${n} has ${fragments.length} fragments; expected one`);
  if (fragment.count < expected)
    throw new FramesMissing(`segment ${n} has ${fragment.count} frames; expected ${expected}`);
  if (fragment.count !== expected)
    throw new Mp4Error(`segment ${n} has ${fragment.count} frames; expected ${expected}`);
  const presentationTimes = showTimes(fragment);
  const first = Math.min(...presentationTimes);
  const framePositions = new Set(presentationTimes.map((time) => (time - first) / ticksPerFrame));
  if (framePositions.size !== expected || Math.max(...framePositions) !== expected - 1)
    throw new Mp4Error(`the frames of segment ${n} are not evenly spaced`);
  const delay = delayOf(rendition, model);
  const samples = presentationTimes.map((time, i): FragmentSample => ({
    duration: ticksPerFrame,
    size: fragment.sizes[i]!,
    shift: time - first - i * ticksPerFrame + delay,
    sync: fragment.syncs[i] === 1,
  }));
  if (delay > 0 && samples.some(({ shift }) => shift < 0))
    throw new Mp4Error(`segment ${n} reorders more frames than its edit list allows for`);
  if (samples[0]?.sync !== true) throw new Mp4Error(`segment ${n} does not begin with a key frame`);
  const renditionFramesPerSegment = model.segments.framesPerSegment / (rendition.halved === true ? 2 : 1);
  const head = writeFragment({
    track: TRACK_ID,
    sequence: n + 1,
    time: n * renditionFramesPerSegment * ticksPerFrame,
    samples,
  });
  return Buffer.concat([head, bytes.subarray(fragment.dataStart, fragment.dataStart + fragment.dataSize)]);
}

/** Returns the presentation time of each sample, relative to the decoding time of the first. */
function showTimes({
  count,
  durations,
  shifts,
}: {
  count: number;
  durations: Uint32Array;
  shifts: Int32Array;
}): number[] {
  const times: number[] = [];
  let decoded = 0;
  for (let i = 0; i < count; i++) {
    times.push(decoded + shifts[i]!);
    decoded += durations[i]!;
  }
  return times;
}
