import { Mp4Error, walkSamples, type FragmentSample, type SampleMark, type SampleTables, type SampleWalk } from "../../protocol/mp4/index.ts";

/** A track of the source as it is cut: where each segment begins among the samples. Times in ticks of the track, from second zero of the video. */
export interface CutTrack {
  tables: SampleTables;
  timescale: number;
  init: Buffer;
  codecs: string;
  segments: readonly Cut[];
  peakBandwidth: number;
  averageBandwidth: number;
  /** Taken from the shift of each sample: the first picture is shown when it is decoded. */
  shiftBase: number;
}

export interface Cut {
  from: SampleMark;
  count: number;
  /** Octets of its samples. */
  size: number;
  /** When its first sample is decoded. */
  time: number;
  /** Taken from the duration of its first sample, which began before second zero. */
  early: number;
  start: number;
  duration: number;
}

/** A sample of a segment and where it lies in the source. */
export interface CutSample extends FragmentSample {
  offset: number;
}

/** Walks all samples, each of which must lie in the file, and all together too: a small index must not stand for more octets than there are. */
export function* everySample(tables: SampleTables, fileSize: number): Generator<SampleWalk, void> {
  const walk = walkSamples(tables);
  if (walk === undefined) throw new Mp4Error("the track has no samples");
  let octets = 0;
  do {
    octets += walk.size;
    if (walk.offset + walk.size > fileSize || octets > fileSize) throw new Mp4Error("the samples reach beyond the end of the file");
    yield walk;
  } while (walk.next());
}

export function samplesOf({ tables, segments, shiftBase }: CutTrack, n: number): CutSample[] {
  const { from, count, early } = segments[n]!;
  const walk = walkSamples(tables, from)!;
  const samples: CutSample[] = [];
  for (let i = 0; i < count; i++) {
    samples.push({ duration: walk.duration - (i === 0 ? early : 0), shift: walk.shift - shiftBase, size: walk.size, sync: walk.sync, offset: walk.offset });
    walk.next();
  }
  return samples;
}

export function bandwidthOf(segments: readonly Cut[], timescale: number): Pick<CutTrack, "peakBandwidth" | "averageBandwidth"> {
  let bits = 0;
  let ticks = 0;
  let peak = 0;
  for (const { size, duration } of segments) {
    bits += size * 8;
    ticks += duration;
    // What is left at the end may be a single frame, which is not the rate of anything.
    peak = Math.max(peak, (size * 8) / Math.max(duration / timescale, 0.5));
  }
  return { peakBandwidth: Math.ceil(peak), averageBandwidth: Math.ceil(bits / Math.max(ticks / timescale, 0.001)) };
}
