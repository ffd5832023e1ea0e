import { apiErrors } from "./errors.ts";

/** Limits the memory used by the bodies of all concurrent requests, in bytes. */
interface BodyMemory {
  /**
   * Opens one request: `reserve` counts bytes as they arrive; above the limit it releases those of this request and throws
   * busy. `release` releases them.
   */
  open(): { reserve(octets: number): void; release(): void };
}

/** Sufficient for several concurrent deployments and bulk writes; parsing needs about twice as much in addition. */
const DEFAULT_BODY_MEMORY = 256 * 1024 * 1024;

/** Always granted to each body, so that the server remains manageable when others use up the limit. */
const SMALL = 64 * 1024;

/**
 * Limits the memory for large concurrent bodies. Requests above the limit are rejected instead of queued: while waiting
 * they would hold the data already received.
 */
export function createBodyMemory(limit = DEFAULT_BODY_MEMORY): BodyMemory {
  let held = 0;
  return {
    open() {
      let arrived = 0;
      let mine = 0;
      const release = () => {
        held -= mine;
        mine = 0;
      };
      return {
        release,
        reserve(octets) {
          arrived += octets;
          const more = Math.max(0, arrived - SMALL) - mine;
          if (held + more > limit) {
            release();
            throw apiErrors.busy();
          }
          held += more;
          mine += more;
        },
      };
    },
  };
}
