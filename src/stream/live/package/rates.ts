import type { LiveRendition } from "../fragments.ts";
import type { TrackSegment } from "./track.ts";

/** What renditions turn out to need: a publisher sends what he likes, and what is said of it at its beginning is a guess. */
export interface MeasuredRates {
  /** A segment that is whole. */
  add(rendition: string, segment: TrackSegment): void;
  /** With the peak and the average of its segments, where they are more than was said. */
  of(rendition: LiveRendition): LiveRendition;
}

/** Bits per second that players are told are round, and do not change with every segment. */
const STEP = 10_000;
/** Parts of a second say nothing of what a second needs. */
const LEAST_SECONDS = 0.5;

export function createMeasuredRates(): MeasuredRates {
  const measured = new Map<string, { peak: number; bits: number; seconds: number }>();

  return {
    add(rendition, { duration, parts }) {
      if (duration < LEAST_SECONDS) return;
      const bits = 8 * parts.reduce((sum, { size }) => sum + size, 0);
      const rates = measured.getOrInsertComputed(rendition, () => ({ peak: 0, bits: 0, seconds: 0 }));
      rates.peak = Math.max(rates.peak, bits / duration);
      rates.bits += bits;
      rates.seconds += duration;
    },
    of(rendition) {
      const rates = measured.get(rendition.name);
      if (rates === undefined) return rendition;
      return { ...rendition, peakBandwidth: Math.max(rendition.peakBandwidth, roundUp(rates.peak)), averageBandwidth: Math.max(rendition.averageBandwidth, roundUp(rates.bits / rates.seconds)) };
    },
  };
}

const roundUp = (rate: number) => Math.ceil(rate / STEP) * STEP;
