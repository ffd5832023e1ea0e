import { availableParallelism } from "node:os";

/** How many renditions are encoded at once in this process: above that broadcasts are offered as they come. */
export interface Admission {
  /**
   * Places for as many of `wanted` as are free. `needed`: without so many the broadcast could not be shown at all; they are given beyond the limit too, up to
   * twice of it.
   */
  admit(wanted: number, needed?: number): Admitted;
  readonly limit: number;
  inUse(): number;
}

export interface Admitted {
  readonly places: number;
  /** Some of them are beyond the limit: they are to cost little. */
  readonly crowded: boolean;
  /** Gives them back; a second time does nothing. */
  release(): void;
}

/** `encoders`: renditions that are encoded concurrently; 0: one per processor except one. */
export function createAdmission({ encoders: given }: { encoders: number }): Admission {
  const encoders = given || Math.max(1, availableParallelism() - 1);
  let used = 0;
  return {
    limit: encoders,
    inUse: () => used,
    admit(wanted, needed = 0) {
      const free = Math.max(0, encoders - used);
      const beyond = Math.max(0, 2 * encoders - used);
      const places = Math.min(wanted, Math.max(free, Math.min(needed, beyond)));
      used += places;
      let held = places;
      return {
        places,
        crowded: places > free,
        release() {
          used -= held;
          held = 0;
        },
      };
    },
  };
}
