import { bitRatesOf } from "../../protocol/hls/index.ts";
import {
  fragmentHeaderSize,
  Mp4Error,
  iterateSamples,
  type FragmentSample,
  type SamplePosition,
  type SampleTables,
  type SampleIterator,
} from "../../protocol/mp4/index.ts";

/**
 * A source track divided into segments: the first sample of each. Times in ticks of the track, from the start of the
 * video.
 */
export interface CutTrack {
  tables: SampleTables;
  timescale: number;
  /** Timescale of the segments, in ticks per second. Default: the track's own. */
  segmentTimescale?: number;
  init: Buffer;
  codecs: string;
  segments: readonly SampleCut[];
  peakBandwidth: number;
  averageBandwidth: number;
  /**
   * Subtracted from each composition offset: the first frame is presented at its decoding time plus the delay that the
   * edit list cancels.
   */
  baseOffset: number;
}

export interface SampleCut {
  from: SamplePosition;
  count: number;
  /** Total bytes of its samples. */
  size: number;
  /** Decoding time of its first sample. */
  time: number;
  /** Subtracted from the duration of its first sample, which started before the video did. */
  trimStart: number;
  start: number;
  duration: number;
}

/** A sample of a segment and its position in the source. */
interface CutSample extends FragmentSample {
  offset: number;
}

/**
 * Iterates over all samples. Each must lie within the file, and their total size must not exceed it: a small index must
 * not describe more bytes than the file has.
 */
export function* everySample(tables: SampleTables, fileSize: number): Generator<SampleIterator, void> {
  const walk = iterateSamples(tables);
  if (walk === undefined) throw new Mp4Error("the track has no samples");
  let octets = 0;
  do {
    octets += walk.size;
    if (walk.offset + walk.size > fileSize || octets > fileSize)
      throw new Mp4Error("the samples reach beyond the end of the file");
    yield walk;
  } while (walk.next());
}

/**
 * Returns the samples of segment `n`, and the decoding time of the first, in ticks of the segments. Rounds times, not
 * durations, so that errors do not accumulate.
 */
export function samplesOf(
  { tables, segments, baseOffset, timescale, segmentTimescale = timescale }: CutTrack,
  n: number,
): { time: number; samples: CutSample[] } {
  const { from, count, trimStart, time: first } = segments[n]!;
  const scaleTicks = (ticks: number) => Math.round((ticks * segmentTimescale) / timescale);
  const walk = iterateSamples(tables, from)!;
  const samples: CutSample[] = [];
  let time = first;
  for (let i = 0; i < count; i++) {
    const next = time + walk.duration - (i === 0 ? trimStart : 0);
    samples.push({
      duration: scaleTicks(next) - scaleTicks(time),
      shift: scaleTicks(time + walk.shift - baseOffset) - scaleTicks(time),
      size: walk.size,
      sync: walk.sync,
      offset: walk.offset,
    });
    time = next;
    walk.next();
  }
  return { time: scaleTicks(first), samples };
}

/** Returns the bandwidth of complete segments, including moof and mdat headers. */
export function bandwidthOf(
  segments: readonly SampleCut[],
  { timescale, tables }: Pick<CutTrack, "timescale" | "tables">,
): Pick<CutTrack, "peakBandwidth" | "averageBandwidth"> {
  const { peak, average } = bitRatesOf(
    segments.map(({ count, size, duration }) => ({
      size:
        size +
        fragmentHeaderSize({
          count,
          mixed: tables.syncs !== undefined && count > 1,
          shifted: tables.shifts !== undefined,
          bytes: size,
        }),
      duration: duration / timescale,
    })),
  );
  return { peakBandwidth: Math.ceil(peak), averageBandwidth: Math.ceil(average) };
}
