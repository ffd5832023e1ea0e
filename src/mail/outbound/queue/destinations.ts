import type { Clock } from "../../../kernel/index.ts";
import type { Breaker } from "../smtp/breaker.ts";

export interface DestinationLimits {
  /** Maximum number of concurrent messages over all destinations. */
  lanes: number;
  /** Maximum number of concurrent messages to one destination. */
  perDestination: number;
  /** Messages started per minute per destination. Default: no limit. */
  perMinute?: number;
}

/** Limits deliveries per destination. A lane is one message in progress and the connection it uses. */
interface Destinations {
  /** Takes a lane if this destination may use another one. */
  enter(destination: string): boolean;
  leave(destination: string): void;
  /** True if the next message may start now, in which case it is counted. */
  mayBegin(destination: string): boolean;
  /** Like `mayBegin`, but without counting. */
  mayGoOn(destination: string): boolean;
  /** Records whether the destination was reached. */
  ended(destination: string, went: { reached: boolean; why: string }): void;
  /** True after failures: one message is enough to probe the destination. */
  isDoubtful(destination: string): boolean;
  /** The earliest time at which a delayed destination may continue. */
  readonly nextAt: number;
  readonly busy: number;
}

interface State {
  lanes: number;
  /** Maximum number of lanes. Grows with success, so that a destination that hangs never holds many lanes. */
  window: number;
  notBefore: number;
}

/** Maximum number of idle destinations kept in memory. */
const MAX_IDLE = 5000;

export function createDestinations({
  clock,
  breaker,
  limits,
}: {
  clock: Pick<Clock, "now">;
  breaker: Breaker;
  limits: DestinationLimits;
}): Destinations {
  const states = new Map<string, State>();
  let busy = 0;

  function stateOf(destination: string): State {
    const known = states.get(destination) ?? { lanes: 0, window: Math.min(2, limits.perDestination), notBefore: 0 };
    // Moves this destination to the end, then evicts the least recently used idle ones.
    states.delete(destination);
    states.set(destination, known);
    if (states.size > MAX_IDLE)
      for (const [name, { lanes }] of states) if (lanes === 0 && states.size > MAX_IDLE) states.delete(name);
    return known;
  }

  const mayGoOn = (destination: string) =>
    stateOf(destination).notBefore <= clock.now() && breaker.blocked(destination) === undefined;

  return {
    get busy() {
      return busy;
    },
    get nextAt() {
      const now = clock.now();
      let at = Infinity;
      for (const { notBefore } of states.values()) if (notBefore > now) at = Math.min(at, notBefore);
      return at;
    },
    enter(destination) {
      const state = stateOf(destination);
      if (busy >= limits.lanes || state.lanes >= state.window || !mayGoOn(destination)) return false;
      // The last fifth is reserved for destinations without a lane.
      if (state.lanes > 0 && limits.lanes - busy <= limits.lanes / 5) return false;
      if (state.lanes > 0 && breaker.failures(destination) > 0) return false;
      state.lanes++;
      busy++;
      return true;
    },
    leave(destination) {
      stateOf(destination).lanes--;
      busy--;
    },
    mayGoOn,
    mayBegin(destination) {
      if (!mayGoOn(destination)) return false;
      const state = stateOf(destination);
      if (limits.perMinute !== undefined) state.notBefore = clock.now() + 60_000 / limits.perMinute;
      return true;
    },
    ended(destination, { reached, why }) {
      const state = stateOf(destination);
      if (reached) {
        breaker.succeeded(destination);
        state.window = Math.min(limits.perDestination, state.window + 1);
      } else {
        breaker.failed(destination, why);
        state.window = 1;
      }
    },
    isDoubtful: (destination) => breaker.failures(destination) > 0,
  };
}
