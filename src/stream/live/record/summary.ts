import type { LiveSegment, LiveTimeline } from "../timeline.ts";
import type { RecordingSummary } from "./port.ts";

/**
 * Returns the duration of a segment, in seconds: that of its video, if any. The longest rendition would be a few
 * milliseconds too long, which adds up over thousands of segments.
 */
export function lengthOf(runs: LiveTimeline["runs"], { run, durations }: LiveSegment): number {
  const leader = runs[run]!.renditions.find(({ name }) => durations[name] !== undefined);
  return leader === undefined ? 0 : durations[leader.name]!;
}

/** Returns the totals of a timeline. */
export function recordingSummary(
  { runs, segments }: Pick<LiveTimeline, "runs" | "segments">,
  size: number,
): RecordingSummary {
  const duration = segments.reduce((sum, segment) => sum + lengthOf(runs, segment), 0);
  const usedRuns = new Set(segments.map(({ run }) => run));
  const videoRenditions = runs
    .filter((_, index) => usedRuns.has(index))
    .flatMap(({ renditions }) => renditions)
    .map(({ width = 0, height = 0 }) => ({ width, height }));
  const largest = videoRenditions.reduce(
    (largestSoFar, candidate) =>
      candidate.width * candidate.height > largestSoFar.width * largestSoFar.height ? candidate : largestSoFar,
    {
      width: 0,
      height: 0,
    },
  );
  return { segments: segments.length, duration: Math.round(duration * 1000) / 1000, size, ...largest };
}
