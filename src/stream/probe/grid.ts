import type { Fraction, SegmentGrid } from "../model.ts";
import type { Cadence } from "./track-scan.ts";

const SEGMENT_SECONDS = 4;
/** Time grid for audio-only videos. */
const AUDIO_GRID: Fraction = { num: 25, den: 1 };

/** Standard rates of players and screens, slowest first. */
const STANDARD: readonly Fraction[] = [
  { num: 24_000, den: 1001 },
  { num: 24, den: 1 },
  { num: 25, den: 1 },
  { num: 30_000, den: 1001 },
  { num: 30, den: 1 },
  { num: 50, den: 1 },
  { num: 60_000, den: 1001 },
  { num: 60, den: 1 },
];
/**
 * Low rates that renditions preserve: whole numbers of frames per second with their NTSC variants, halves and quarters.
 */
const SLOW_RATES: readonly Fraction[] = Array.from({ length: 23 }, (_, i) => i + 1).flatMap((rate) => [
  { num: rate, den: 1 },
  ...(rate > 1 ? [{ num: rate * 1000, den: 1001 }] : []),
  ...(rate < 16
    ? [
        { num: 4 * rate + 1, den: 4 },
        { num: 2 * rate + 1, den: 2 },
        { num: 4 * rate + 3, den: 4 },
      ]
    : []),
]);
const PRESERVED_RATES = [...SLOW_RATES, ...STANDARD];
/** 29.97 and 30 differ by 0.001. */
const RATE_TOLERANCE = 0.0004;
/** Up to this rate, a non-standard rate is multiplied, repeating each frame, rather than rounded. */
const MAX_MULTIPLIED_RATE = 30.01;
/** Lower source frame rates are not divided: the video would no longer look smooth. */
const MIN_DIVIDED_RATE = 49;
const MAX_MULTIPLIER = 40;

/**
 * Frame rate of a video's renditions: the source rate if it is a standard or low rate, else a multiple or fraction of
 * it that is such a rate, else the next higher standard rate; at most 60. `claimedRates`: rates from the headers, which
 * are more exact if they agree with the measured rate.
 */
export function outputRate(
  { rate, average, upperQuartileRate, uncertainty }: Cadence,
  claimedRates: readonly number[],
): Fraction {
  if (rate === undefined) return nextStandardRate(Math.max(average, Math.min(upperQuartileRate, 30)));
  const matchingClaim =
    claimedRates.find((claim) => isClose(claim, rate, uncertainty) && preservedNear(claim, 0) !== undefined) ?? rate;
  const preservedRate = preservedNear(matchingClaim, matchingClaim === rate ? uncertainty : 0);
  if (preservedRate !== undefined) return preservedRate;
  for (let multiplier = 2; multiplier <= MAX_MULTIPLIER; multiplier++) {
    const fit =
      rate < valueOf(STANDARD[0]!)
        ? preservedNear(matchingClaim * multiplier, uncertainty)
        : rate > valueOf(STANDARD.at(-1)!)
          ? standardNear(matchingClaim / multiplier, uncertainty)
          : undefined;
    if (
      fit !== undefined &&
      (rate > MAX_MULTIPLIED_RATE ? valueOf(fit) >= MIN_DIVIDED_RATE : valueOf(fit) <= MAX_MULTIPLIED_RATE)
    )
      return fit;
  }
  return nextStandardRate(rate);
}

const valueOf = ({ num, den }: Fraction) => num / den;
const isClose = (a: number, b: number, uncertainty: number) => Math.abs(a / b - 1) <= RATE_TOLERANCE + uncertainty;

const standardNear = (rate: number, uncertainty: number) => nearestWithin(STANDARD, rate, uncertainty);
const preservedNear = (rate: number, uncertainty: number) => nearestWithin(PRESERVED_RATES, rate, uncertainty);

function nearestWithin(rates: readonly Fraction[], rate: number, uncertainty: number): Fraction | undefined {
  const distance = (candidate: Fraction) => Math.abs(valueOf(candidate) / rate - 1);
  const nearest = rates.reduce((best, candidate) => (distance(candidate) < distance(best) ? candidate : best));
  return isClose(valueOf(nearest), rate, Math.min(uncertainty, 0.01)) ? nearest : undefined;
}

const nextStandardRate = (rate: number): Fraction =>
  STANDARD.find((standard) => valueOf(standard) >= rate * (1 - RATE_TOLERANCE)) ?? STANDARD.at(-1)!;

/** `seconds`: end time of the last frame. */
export function videoGrid(fps: Fraction, seconds: number): SegmentGrid {
  return gridOf(fps, Math.max(1, Math.round((seconds * fps.num) / fps.den)));
}

export const audioGrid = (seconds: number): SegmentGrid =>
  gridOf(AUDIO_GRID, Math.max(1, Math.ceil(seconds * 25 - 1e-6)));

function gridOf(fps: Fraction, frames: number): SegmentGrid {
  const framesPerSegment = Math.round(SEGMENT_SECONDS * valueOf(fps));
  return { fps, framesPerSegment, frames, count: Math.ceil(frames / framesPerSegment) };
}
