import type { LiveHealth } from "../../../stream/index.ts";

const PROBLEMS: Record<string, string> = {
  ERR_GOP_OUT_OF_RANGE:
    "Key frames are more than ten seconds apart. Set the encoder's key frame interval to two seconds.",
};

/** Returns the problems of a broadcast, in sentences. */
export const liveWarnings = ({ problems, notes = [], lost, dropped, bFrames }: LiveHealth): string[] => [
  ...problems.map((code) => PROBLEMS[code] ?? code),
  ...(lost > 0
    ? [
        `The network lost ${lost} packets in the last ten seconds. Lower the bitrate, use a wired connection, or raise the latency of SRT.`,
      ]
    : []),
  ...(dropped > 0
    ? [`The server dropped ${dropped} packets in the last ten seconds, because their times or tracks were invalid.`]
    : []),
  ...(bFrames ? ["The video has B-frames, which add latency. Disable them in the encoder."] : []),
  ...notes,
];
