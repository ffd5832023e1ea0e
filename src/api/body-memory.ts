import { apiErrors } from "./errors.ts";

/** Octets of bodies that are held whole at the same time, of all requests together. */
export interface BodyMemory {
  /** For one request: `take` counts octets as they come; beyond the bound it gives back what this request had and throws busy. `free` gives back. */
  open(): { take(octets: number): void; free(): void };
}

/** Enough for some deploys and bulk writes at once; what is made of a body while it is read takes about twice as much again. */
export const DEFAULT_BODY_MEMORY = 256 * 1024 * 1024;

/** What every body may take whatever there is: the server goes on being steered while others fill it. */
const SMALL = 64 * 1024;

/**
 * A bound on what many large bodies at once may cost. Those beyond it are refused and not queued: they would hold what they have sent already while
 * they wait for others that do the same.
 */
export function createBodyMemory(limit = DEFAULT_BODY_MEMORY): BodyMemory {
  let held = 0;
  return {
    open() {
      let arrived = 0;
      let mine = 0;
      const free = () => {
        held -= mine;
        mine = 0;
      };
      return {
        free,
        take(octets) {
          arrived += octets;
          const more = Math.max(0, arrived - SMALL) - mine;
          if (held + more > limit) {
            free();
            throw apiErrors.busy();
          }
          held += more;
          mine += more;
        },
      };
    },
  };
}
