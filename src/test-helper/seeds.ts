import { globSync } from "node:fs";
import { testHelperErrors } from "./errors.ts";

/** Expands patterns in `FILE` and `BINDING=FILE` to the matching files, sorted by name. */
export function expandSeeds(seeds: readonly string[], dir: string): string[] {
  return seeds.flatMap((seed) => {
    if (!seed.includes("*")) return [seed];
    const [, binding = "", pattern] = /^(\w+=)?(.*)$/.exec(seed)!;
    const files = globSync(pattern!, { cwd: dir }).toSorted();
    if (files.length === 0) throw testHelperErrors.seedMissing({ pattern, dir });
    return files.map((file) => `${binding}${file}`);
  });
}
