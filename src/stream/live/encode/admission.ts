import { availableParallelism } from "node:os";

/**
 * Maximum number of renditions encoded concurrently in this process; beyond that, broadcasts are passed through
 * unchanged.
 */
export interface Admission {
  /**
   * Grants as many of the `wanted` slots as are free. `needed`: the minimum to show the broadcast at all; granted
   * beyond the limit too, up to twice the limit.
   */
  admit(wanted: number, needed?: number): EncoderSlots;
  readonly limit: number;
  inUse(): number;
}

export interface EncoderSlots {
  readonly slots: number;
  /** Some slots are beyond the limit: encode at low cost. */
  readonly isOverLimit: boolean;
  /** Releases the slots; a second call does nothing. */
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
      const slots = Math.min(wanted, Math.max(free, Math.min(needed, beyond)));
      used += slots;
      let held = slots;
      return {
        slots,
        isOverLimit: slots > free,
        release() {
          used -= held;
          held = 0;
        },
      };
    },
  };
}
