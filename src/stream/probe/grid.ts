import type { Fraction, SegmentGrid } from "../model.ts";
import type { Cadence } from "./track-scan.ts";

const SEGMENT_SECONDS = 4;
/** What sound alone is measured in. */
const AUDIO_GRID: Fraction = { num: 25, den: 1 };

/** The rates that players and screens are made for, slowest first. */
const STANDARD: readonly Fraction[] = [
  { num: 24_000, den: 1001 }, { num: 24, den: 1 }, { num: 25, den: 1 }, { num: 30_000, den: 1001 },
  { num: 30, den: 1 }, { num: 50, den: 1 }, { num: 60_000, den: 1001 }, { num: 60, den: 1 },
];
/** 29.97 and 30 are 0.001 apart. */
const ALIKE = 0.0004;
/** Up to this, slow ones are multiplied rather than rounded: of 15 frames a second each is shown twice. */
const UNHURRIED = 30.01;
/** Of fast ones, a part that is slower than this would lose what they are made for. */
const SMOOTH = 49;
const MOST_TIMES = 40;

/**
 * Frames a second of what is made of a video: the source's own where it is a standard one, a multiple or a part of it where that is one, else the next
 * standard one up; never more than 60. `told`: what the headers claim, which is exact where it agrees with what was counted.
 */
export function outputRate({ rate, average, brisk, uncertainty }: Cadence, told: readonly number[]): Fraction {
  if (rate === undefined) return nextUp(Math.max(average, Math.min(brisk, 30)));
  const exact = told.find((claim) => alike(claim, rate, uncertainty) && standardNear(claim, 0) !== undefined) ?? rate;
  const near = standardNear(exact, exact === rate ? uncertainty : 0);
  if (near !== undefined) return near;
  for (let times = 2; times <= MOST_TIMES; times++) {
    const fit = rate < valueOf(STANDARD[0]!) ? standardNear(exact * times, uncertainty) : rate > valueOf(STANDARD.at(-1)!) ? standardNear(exact / times, uncertainty) : undefined;
    if (fit !== undefined && (rate > UNHURRIED ? valueOf(fit) >= SMOOTH : valueOf(fit) <= UNHURRIED)) return fit;
  }
  return nextUp(rate);
}

const valueOf = ({ num, den }: Fraction) => num / den;
const alike = (a: number, b: number, uncertainty: number) => Math.abs(a / b - 1) <= ALIKE + uncertainty;

function standardNear(rate: number, uncertainty: number): Fraction | undefined {
  const distance = (standard: Fraction) => Math.abs(valueOf(standard) / rate - 1);
  const nearest = STANDARD.reduce((best, standard) => (distance(standard) < distance(best) ? standard : best));
  return alike(valueOf(nearest), rate, Math.min(uncertainty, 0.01)) ? nearest : undefined;
}

const nextUp = (rate: number): Fraction => STANDARD.find((standard) => valueOf(standard) >= rate * (1 - ALIKE)) ?? STANDARD.at(-1)!;

/** `seconds`: until the last picture is over. */
export function videoGrid(fps: Fraction, seconds: number): SegmentGrid {
  return gridOf(fps, Math.max(1, Math.round((seconds * fps.num) / fps.den)));
}

export const audioGrid = (seconds: number): SegmentGrid => gridOf(AUDIO_GRID, Math.max(1, Math.ceil(seconds * 25 - 1e-6)));

function gridOf(fps: Fraction, frames: number): SegmentGrid {
  const framesPerSegment = Math.round(SEGMENT_SECONDS * valueOf(fps));
  return { fps, framesPerSegment, frames, count: Math.ceil(frames / framesPerSegment) };
}
