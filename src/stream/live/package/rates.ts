import type { LiveRendition } from "../fragments.ts";
import type { TrackSegment } from "./track.ts";

/**
 * Measured bitrates and frame rates of renditions. The values at the start of a run are estimated from the frame size.
 */
export interface MeasuredRates {
  /** Adds a complete segment. */
  add(rendition: string, segment: TrackSegment): void;
  /**
   * Returns the rendition with the peak and average bitrate and frame rate measured over its last segments instead of
   * the estimates.
   */
  of(rendition: LiveRendition): LiveRendition;
}

/** Bits per second. Rounding up keeps playlist values stable. */
const RATE_STEP = 10_000;
/** Shorter segments are not representative of the bitrate per second. */
const MIN_SECONDS = 0.5;
/** Only recent segments count, so that a lower bitrate takes effect. */
const WINDOW_SECONDS = 60;
/**
 * Frame rates of cameras and encoders. A measured rate within `RATE_TOLERANCE` (relative) is rounded to one of these.
 */
const COMMON_RATES = [24_000 / 1001, 24, 25, 30_000 / 1001, 30, 50, 60_000 / 1001, 60];
const RATE_TOLERANCE = 0.0005;

interface Measured {
  bits: number;
  seconds: number;
  frames: number;
}

export function createMeasuredRates(): MeasuredRates {
  const windows = new Map<string, { run: string; segments: Measured[] }>();

  return {
    add(rendition, { run, duration, parts }) {
      if (duration < MIN_SECONDS) return;
      let window = windows.get(rendition);
      // The encoder may differ after a discontinuity.
      if (window?.run !== run.id) windows.set(rendition, (window = { run: run.id, segments: [] }));
      const { segments } = window;
      segments.push({
        bits: 8 * sum(parts, ({ size }) => size),
        seconds: duration,
        frames: sum(parts, ({ frames }) => frames),
      });
      while (sum(segments, ({ seconds }) => seconds) - segments[0]!.seconds >= WINDOW_SECONDS) segments.shift();
    },
    of(rendition) {
      const segments = windows.get(rendition.name)?.segments;
      if (segments === undefined) return rendition;
      const seconds = sum(segments, (segment) => segment.seconds);
      const frameRate = sum(segments, ({ frames }) => frames) / seconds;
      return {
        ...rendition,
        peakBandwidth: roundUp(Math.max(...segments.map((segment) => segment.bits / segment.seconds))),
        averageBandwidth: roundUp(sum(segments, ({ bits }) => bits) / seconds),
        ...(frameRate > 0 && {
          frameRate:
            COMMON_RATES.find((commonRate) => Math.abs(frameRate / commonRate - 1) < RATE_TOLERANCE) ??
            Math.round(frameRate * 1000) / 1000,
        }),
      };
    },
  };
}

const sum = <T>(items: readonly T[], valueOf: (item: T) => number): number =>
  items.reduce((total, item) => total + valueOf(item), 0);
/** Durations are sums of fractions, so a value slightly above a step counts as that step. */
const roundUp = (rate: number) => Math.ceil(rate / RATE_STEP - 1e-6) * RATE_STEP;
