import type { Clock } from "../../../kernel/index.ts";
import type { Peers } from "../../../kernel/peers.ts";
import type { Breaker } from "../smtp/breaker.ts";

export interface DestinationLimits {
  /** Maximum number of concurrent messages across all destinations, in this process. */
  maxConcurrent: number;
  /** Maximum number of concurrent messages to one destination, across all processes that deliver. */
  perDestination: number;
  /** Maximum number of messages per minute per destination, across all processes that deliver. Default: no limit. */
  perMinute?: number;
}

/** Limits deliveries per destination. A lane is one message in progress and the connection it uses. */
interface Destinations {
  /** Takes a lane if this destination may use another one. */
  acquire(destination: string): boolean;
  release(destination: string): void;
  /** True if the next message may start now, in which case it is counted. */
  tryStart(destination: string): boolean;
  /** Like `tryStart`, but without counting. */
  canContinue(destination: string): boolean;
  /** Records whether the destination was reached. */
  recordAttempt(destination: string, attemptOutcome: { reached: boolean; why: string }): void;
  /** True after failures: one message is enough to probe the destination. */
  isFailing(destination: string): boolean;
  /** The earliest time at which a delayed destination may continue. */
  readonly nextAt: number;
  readonly busy: number;
}

interface State {
  active: number;
  /** Maximum number of lanes. Grows with success, so that a destination that hangs never holds many lanes. */
  window: number;
  notBefore: number;
}

/** Maximum number of idle destinations kept in memory. */
const MAX_IDLE_DESTINATIONS = 5000;

export function createDestinations({
  clock,
  breaker,
  limits,
  peers,
}: {
  clock: Pick<Clock, "now">;
  breaker: Breaker;
  limits: DestinationLimits;
  /** Returns the processes that deliver. */
  peers: () => ReturnType<Peers>;
}): Destinations {
  const states = new Map<string, State>();
  let busyCount = 0;

  function stateOf(destination: string): State {
    const destinationState = states.get(destination) ?? {
      active: 0,
      window: Math.min(2, limits.perDestination),
      notBefore: 0,
    };
    // Moves this destination to the end, then evicts the least recently used idle ones.
    states.delete(destination);
    states.set(destination, destinationState);
    if (states.size > MAX_IDLE_DESTINATIONS)
      for (const [name, { active }] of states)
        if (active === 0 && states.size > MAX_IDLE_DESTINATIONS) states.delete(name);
    return destinationState;
  }

  /**
   * Returns the number of concurrent messages that this process may send. The shares of all processes add up to the
   * limit. If the limit is lower than the number of processes, some have no share; which ones depends on the name of
   * the destination, so that every process delivers to some destinations.
   */
  function shareOf(destination: string): number {
    const { count, index } = peers();
    if (count <= 1) return limits.perDestination;
    const turn = (index + hashOf(destination)) % count;
    return Math.floor(limits.perDestination / count) + (turn < limits.perDestination % count ? 1 : 0);
  }

  const canContinue = (destination: string) =>
    stateOf(destination).notBefore <= clock.now() && breaker.activePause(destination) === undefined;

  return {
    get busy() {
      return busyCount;
    },
    get nextAt() {
      const now = clock.now();
      let at = Infinity;
      for (const { notBefore } of states.values()) if (notBefore > now) at = Math.min(at, notBefore);
      return at;
    },
    acquire(destination) {
      const state = stateOf(destination);
      if (busyCount >= limits.maxConcurrent || state.active >= state.window || !canContinue(destination)) return false;
      if (state.active >= shareOf(destination)) return false;
      // The last fifth is reserved for destinations without a lane.
      if (state.active > 0 && limits.maxConcurrent - busyCount <= limits.maxConcurrent / 5) return false;
      if (state.active > 0 && breaker.failureCount(destination) > 0) return false;
      state.active++;
      busyCount++;
      return true;
    },
    release(destination) {
      stateOf(destination).active--;
      busyCount--;
    },
    canContinue,
    tryStart(destination) {
      if (!canContinue(destination)) return false;
      const state = stateOf(destination);
      if (limits.perMinute !== undefined)
        state.notBefore = clock.now() + (60_000 * Math.max(1, peers().count)) / limits.perMinute;
      return true;
    },
    recordAttempt(destination, { reached, why }) {
      const state = stateOf(destination);
      if (reached) {
        breaker.recordSuccess(destination);
        state.window = Math.min(limits.perDestination, state.window + 1);
      } else {
        breaker.recordFailure(destination, why);
        state.window = 1;
      }
    },
    isFailing: (destination) => breaker.failureCount(destination) > 0,
  };
}

/** FNV-1a, 32 bits. All processes compute the same hash. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return hash;
}
