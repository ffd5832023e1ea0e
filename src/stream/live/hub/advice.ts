import type { LiveInput } from "../inputs/port.ts";
import type { LiveHealth } from "../session.ts";

/** Longest distance of key frames, in seconds, that low latency is good with: the contract's four, and what clocks round. */
const LONG_FOR_LOW_LATENCY = 4.1;

/** What a publisher could do better, in sentences, where the input wants low latency. */
export function adviceFor(
  { preferLowLatency }: Pick<LiveInput, "preferLowLatency">,
  { bFrames, keyFrameInterval }: Pick<LiveHealth, "bFrames" | "keyFrameInterval">,
): string[] {
  if (!preferLowLatency) return [];
  return [
    ...(bFrames ? ["The pictures come with B-frames, which cost latency: switch them off in the encoder."] : []),
    ...(keyFrameInterval > LONG_FOR_LOW_LATENCY
      ? [
          `Key frames are ${keyFrameInterval.toFixed(1)} seconds apart, and viewers begin with one: set an interval of two seconds in the encoder.`,
        ]
      : []),
  ];
}
