import { availableParallelism } from "node:os";

/**
 * Maximum number of renditions encoded concurrently in this process; beyond that, broadcasts are passed through
 * unchanged.
 */
export interface Admission {
  /**
   * Grants as many of the `wantedSlots` slots as are free. `neededSlots`: the minimum to show the broadcast at all;
   * granted beyond the limit too, up to twice the limit.
   */
  admit(wantedSlots: number, neededSlots?: number): EncoderSlots;
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

/** `encoders`: maximum number of renditions encoded concurrently; 0: the number of processors minus one. */
export function createAdmission({ encoders: configuredEncoders }: { encoders: number }): Admission {
  const encoders = configuredEncoders || Math.max(1, availableParallelism() - 1);
  let usedSlots = 0;
  return {
    limit: encoders,
    inUse: () => usedSlots,
    admit(wantedSlots, neededSlots = 0) {
      const freeSlots = Math.max(0, encoders - usedSlots);
      const overcommitSlots = Math.max(0, 2 * encoders - usedSlots);
      const slots = Math.min(wantedSlots, Math.max(freeSlots, Math.min(neededSlots, overcommitSlots)));
      usedSlots += slots;
      let heldSlots = slots;
      return {
        slots,
        isOverLimit: slots > freeSlots,
        release() {
          usedSlots -= heldSlots;
          heldSlots = 0;
        },
      };
    },
  };
}
