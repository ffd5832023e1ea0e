import type { Clock } from "../../../kernel/index.ts";
import type { Breaker } from "../smtp/breaker.ts";

export interface DestinationLimits {
  /** Messages under way at once, all destinations together. */
  lanes: number;
  /** To one destination. */
  perDestination: number;
  /** Messages that are begun per minute and destination. Default: no such limit. */
  perMinute?: number;
}

/** Who may be sent to now. A lane is one message under way, and the connection it uses. */
export interface Destinations {
  /** Takes a lane if this destination may have one more. */
  enter(destination: string): boolean;
  leave(destination: string): void;
  /** Whether the next message may begin now; if so it counts. */
  mayBegin(destination: string): boolean;
  /** The same without counting. */
  mayGoOn(destination: string): boolean;
  /** How a delivery went, as far as the way there is concerned. */
  ended(destination: string, went: { reached: boolean; why: string }): void;
  /** True after failures: one message is enough to find out more. */
  isDoubtful(destination: string): boolean;
  /** When the first of those that have to wait may go on. */
  readonly nextAt: number;
  readonly busy: number;
}

interface State {
  lanes: number;
  /** How many lanes it may have: grows with success, so that a destination that hangs never holds many. */
  window: number;
  notBefore: number;
}

/** Destinations that are remembered while nothing goes there. */
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
    // The one that was longest out of use goes first.
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
      // The last fifth is for destinations that have no lane yet.
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
