import { apiErrors } from "./errors.ts";

/** Limits the memory used by the bodies of all concurrent requests, in bytes. */
interface BodyMemory {
  /**
   * Starts counting the body of one request: `reserve` counts bytes as they arrive; above the limit, it releases the
   * bytes of this request and throws busy. `release` releases them.
   */
  open(): { reserve(octets: number): void; release(): void };
}

/** Sufficient for several concurrent deployments and bulk writes; parsing needs about twice as much in addition. */
const DEFAULT_BODY_MEMORY = 256 * 1024 * 1024;

/** Always granted to each body, so that the server remains manageable when others use up the limit. */
const UNCOUNTED_OCTETS = 64 * 1024;

/**
 * Limits the memory for large concurrent bodies. Requests above the limit are rejected instead of queued: while waiting
 * they would hold the data already received.
 */
export function createBodyMemory(limit = DEFAULT_BODY_MEMORY): BodyMemory {
  let reservedOctets = 0;
  return {
    open() {
      let arrived = 0;
      let ownOctets = 0;
      const release = () => {
        reservedOctets -= ownOctets;
        ownOctets = 0;
      };
      return {
        release,
        reserve(octets) {
          arrived += octets;
          const extraOctets = Math.max(0, arrived - UNCOUNTED_OCTETS) - ownOctets;
          if (reservedOctets + extraOctets > limit) {
            release();
            throw apiErrors.busy();
          }
          reservedOctets += extraOctets;
          ownOctets += extraOctets;
        },
      };
    },
  };
}
