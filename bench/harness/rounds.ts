import type { PreparedBench } from "./bench.ts";
import { median } from "./median.ts";

/**
 * Runs every arm once per round, so that other load affects all arms alike. Every second round runs in reverse order,
 * so that no arm always follows the same neighbor. A first round warms caches and compilers and is discarded.
 *
 * Figures are computed within a round, and the median over the rounds is reported: a slow minute affects both sides of
 * a ratio. NaN means that a figure could not be measured in this round.
 */
export async function runRounds(
  prepared: PreparedBench,
  rounds: number,
  say: (line: string) => void,
): Promise<Record<string, number>> {
  const perRound: Record<string, number>[] = [];
  for (let round = 0; round <= rounds; round++) {
    const samples = new Map<string, number>();
    for (const arm of round % 2 === 0 ? prepared.arms : prepared.arms.toReversed()) {
      const value = await arm.sample();
      samples.set(arm.name, value);
      say(
        `${round === 0 ? "warm-up" : `round ${round}/${rounds}`}  ${arm.name.padEnd(34)} ${value.toFixed(1).padStart(9)} ${arm.unit}`,
      );
    }
    if (round > 0) perRound.push(prepared.figures((arm) => sampleOf(samples, arm)));
  }
  const keys = Object.keys(perRound[0] ?? {});
  return Object.fromEntries(keys.map((key) => [key, rounded(medianOfKnown(perRound.map((figures) => figures[key]!)))]));
}

function medianOfKnown(values: readonly number[]): number {
  const known = values.filter((value) => !Number.isNaN(value));
  return known.length === 0 ? NaN : median(known);
}

function sampleOf(samples: ReadonlyMap<string, number>, arm: string): number {
  const value = samples.get(arm);
  if (value === undefined) throw new Error(`a figure uses the arm "${arm}", which does not exist`);
  return value;
}

const rounded = (value: number) => Number(value.toPrecision(4));
