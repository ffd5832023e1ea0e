/** Bit rates of a media playlist in bits per second, as used in BANDWIDTH and AVERAGE-BANDWIDTH. */
export interface BitRates {
  peak: number;
  average: number;
}

/**
 * Target duration in seconds, rounded up: RFC 8216 4.3.3.1 compares EXTINF rounded to the nearest second, but older
 * players compare the exact value.
 */
export const targetDurationOf = (longestSeconds: number): number => Math.max(1, Math.ceil(longestSeconds - 1e-6));

/**
 * RFC 8216 4.1: the peak is the largest bit rate of any contiguous set of segments lasting 0.5 to 1.5 target durations,
 * so a short last segment does not count alone. The average covers all segments. `size` is in octets, `duration` in
 * seconds.
 */
export function bitRatesOf(segments: readonly { size: number; duration: number }[]): BitRates {
  const target = targetDurationOf(
    segments.reduce((longestSeconds, { duration }) => Math.max(longestSeconds, duration), 0),
  );
  let peak = 0;
  let bits = 0;
  let seconds = 0;
  for (const [first, { size, duration }] of segments.entries()) {
    bits += 8 * size;
    seconds += duration;
    let set = { bits: 0, seconds: 0 };
    for (let last = first; last < segments.length; last++) {
      set = { bits: set.bits + 8 * segments[last]!.size, seconds: set.seconds + segments[last]!.duration };
      if (set.seconds > 1.5 * target) break;
      if (set.seconds >= 0.5 * target) peak = Math.max(peak, set.bits / set.seconds);
    }
  }
  const average = bits / Math.max(seconds, 0.001);
  // A playlist shorter than half a target duration contains no such set.
  return { peak: Math.max(peak, average), average };
}
