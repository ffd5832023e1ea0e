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
import { frameTicks, renditionRate, timescaleOf } from "./codecs.ts";
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
export function videoInitSegment(bytes: Buffer, rendition: VideoRendition, model: MediaModel): Buffer {
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

/** Assembles one segment from the frames that the encoder writes. */
export interface SegmentAssembler {
  /**
   * Adds the next frame: one fragment of the encoder's output. Resolves with the CMAF chunk that it completes. The
   * chunks are the segment. Throws Mp4Error unless the frame belongs to the segment, and FramesMissing if earlier ones
   * are missing: dropped and duplicated frames must be detected.
   */
  add(fragment: Buffer): Promise<Buffer | undefined>;
  isComplete(): boolean;
}

/** The encoder's timestamps become those of the grid, without the encoder's own delay. */
export function createSegmentAssembler(n: number, rendition: VideoRendition, model: MediaModel): SegmentAssembler {
  const ticksPerFrame = frameTicks(rendition, model);
  const delay = delayOf(rendition, model);
  const segmentStart = (n * model.segments.framesPerSegment) / (rendition.halved === true ? 2 : 1);
  const expected = frameCountOf(model, rendition, n);
  const { num, den } = renditionRate(rendition, model);
  /** Positions of the received frames in the order of presentation. */
  const positions = new Set<number>();
  let chunkStart = 0;
  let samples: FragmentSample[] = [];
  let frames: Buffer[] = [];

  function takeChunk(): Buffer {
    const head = writeFragment({
      track: TRACK_ID,
      sequence: segmentStart + chunkStart + 1,
      time: (segmentStart + chunkStart) * ticksPerFrame,
      samples,
    });
    const chunk = Buffer.concat([head, ...frames]);
    chunkStart += samples.length;
    samples = [];
    frames = [];
    return chunk;
  }

  return {
    async add(bytes) {
      const [frame, ...others] = await readFragments(
        (start, length) => Promise.resolve(bytes.subarray(start, start + length)),
        bytes.length,
      );
      if (frame?.count !== 1 || others.length > 0) throw new Mp4Error("the encoder wrote a fragment of several frames");
      const index = positions.size;
      const position = (frame.time + frame.shifts[0]!) / ticksPerFrame - segmentStart;
      const isSync = frame.syncs[0] === 1;
      if (index === 0 && !isSync) throw new Mp4Error(`segment ${n} does not begin with a key frame`);
      if (index === 0 && position > 0) throw new FramesMissing(`segment ${n} begins ${position} frames late`);
      // The key frame of the next segment.
      if (index > 0 && isSync && position >= expected)
        throw new FramesMissing(`segment ${n} has ${index} frames; expected ${expected}`);
      if (!Number.isInteger(position) || position < 0 || position >= expected || positions.has(position))
        throw new Mp4Error(`the frames of segment ${n} are not evenly spaced: frame ${index} is at ${position}`);
      positions.add(position);
      const shift = (position - index) * ticksPerFrame + delay;
      if (delay > 0 && shift < 0) throw new Mp4Error(`segment ${n} reorders more frames than its edit list allows for`);
      samples.push({ duration: ticksPerFrame, size: frame.sizes[0]!, shift, sync: isSync });
      frames.push(bytes.subarray(frame.dataStart, frame.dataStart + frame.dataSize));
      const isChunkComplete = positions.size === Math.min(expected, chunkEnd(chunkStart, num / den));
      return isChunkComplete ? takeChunk() : undefined;
    },
    isComplete: () => positions.size === expected,
  };
}

/** In seconds. */
const MIN_CHUNK = 0.25;
const MAX_CHUNK = 1;

/**
 * Returns the frame after the chunk that starts at frame `start` of a segment. The first chunks are short, because
 * players show the first frame once they have the first chunk, some of them only when the second one begins; later ones
 * are longer, because each has a header.
 */
function chunkEnd(start: number, framesPerSecond: number): number {
  const [shortest, longest] = [MIN_CHUNK, MAX_CHUNK].map((seconds) => Math.ceil(seconds * framesPerSecond));
  return start + Math.min(Math.max(start, shortest!), longest!);
}
