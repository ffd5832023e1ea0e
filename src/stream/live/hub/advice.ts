import type { LiveInput } from "../inputs/port.ts";
import type { LiveHealth } from "../session.ts";

/**
 * Longest key frame interval, in seconds, that suits low latency: the documented four, plus an allowance for clock
 * rounding.
 */
const LOW_LATENCY_MAX_GOP_SECONDS = 4.1;

/** Returns advice for the publisher, in sentences, if the input prefers low latency. */
export function adviceFor(
  { preferLowLatency }: Pick<LiveInput, "preferLowLatency">,
  { bFrames, keyFrameInterval }: Pick<LiveHealth, "bFrames" | "keyFrameInterval">,
): string[] {
  if (!preferLowLatency) return [];
  return [
    ...(bFrames ? ["The video has B-frames, which add latency: disable them in the encoder."] : []),
    ...(keyFrameInterval > LOW_LATENCY_MAX_GOP_SECONDS
      ? [
          `Key frames are ${keyFrameInterval.toFixed(1)} seconds apart, and playback starts at a key frame: set an interval of two seconds in the encoder.`,
        ]
      : []),
  ];
}
