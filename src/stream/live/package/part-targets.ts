/** Part target duration of each rendition: the maximum length of its parts (rfc8216bis 4.4.3.7). */
export interface PartTargets {
  add(rendition: string, seconds: number): void;
  /** Seconds; never decreases. The configured part duration for a rendition without parts. */
  of(rendition: string): number;
}

/**
 * Publishers round timestamps to milliseconds, so the next part may be slightly longer; the target must not change
 * between reloads.
 */
const JITTER_S = 0.002;
const STEPS_PER_SECOND = 100;

/**
 * Parts contain whole frames: at 24 fps, a 200 ms part has four frames and lasts 167 ms. Every part must last at least
 * 85 % of the target (4.4.4.9), so the target follows the parts. Playlists are available only after the first complete
 * segment, when all its parts are known.
 */
export function createPartTargets(partSeconds: number): PartTargets {
  const longestParts = new Map<string, number>();
  return {
    add: (rendition, seconds) => void longestParts.set(rendition, Math.max(seconds, longestParts.get(rendition) ?? 0)),
    of(rendition) {
      const longestPart = longestParts.get(rendition);
      return longestPart === undefined
        ? partSeconds
        : Math.ceil((longestPart + JITTER_S) * STEPS_PER_SECOND) / STEPS_PER_SECOND;
    },
  };
}
