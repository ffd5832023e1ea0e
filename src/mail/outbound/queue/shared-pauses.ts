import type { Clock, Log } from "../../../kernel/index.ts";
import type { Breaker, BreakerOptions, BreakerPause } from "../smtp/breaker.ts";
import type { BreakerChange, BreakerEvents } from "./breaker-events.ts";
import type { Pause, PausesTable } from "./pauses-table.ts";

interface SharedPausesDeps {
  table: PausesTable;
  events: BreakerEvents;
  clock: Clock;
  log: Log;
}

type Breakers = Record<Pause["kind"], Breaker>;

const PROBE_DELAY_MS = 5000;

/** Keeps paused destinations and hosts across restarts, and shares them with the other processes. */
export function createSharedPauses({ table, events, clock, log }: SharedPausesDeps) {
  /** Applies a change that another process has detected. */
  async function adoptChange(
    breaker: Breaker,
    change: BreakerChange,
    name: string,
    isEarlier: boolean,
    onReached?: (name: string) => void,
  ): Promise<void> {
    if (change === "failed") return breaker.recordRemoteFailure(name);
    if (change === "reached") {
      breaker.recordRemoteSuccess(name);
      return onReached?.(name);
    }
    const activePauses = await table.active(clock.now(), [name]);
    // If several processes have paused it, only the first one probes it, and announces the result. Checked after the
    // read, during which this process may have paused it, too.
    if (breaker.isOwnPause(name) && !isEarlier) return;
    for (const { until, why } of activePauses) breaker.restore({ key: name, until: until + PROBE_DELAY_MS, why });
  }

  return {
    /** Options of a breaker whose changes are stored and published. */
    breakerOptions: (
      kind: Pause["kind"],
    ): Pick<BreakerOptions, "onPause" | "onResume" | "onFailure" | "onSuccess"> => ({
      onPause({ key: name, until, why }: BreakerPause) {
        log.warn({ [kind]: name, until: new Date(until), why }, `outbound: ${kind} paused after failures`);
        table
          .set({ name, kind, until, why })
          .then(() => events.publish("paused", kind, name))
          .catch((err: unknown) =>
            log.warn({ err, [kind]: name }, "outbound: failed to store the paused state of a host"),
          );
      },
      onResume(name: string) {
        log.info({ [kind]: name }, `outbound: ${kind} resumed`);
        table
          .delete([name])
          .catch((err: unknown) =>
            log.warn({ err, [kind]: name }, "outbound: failed to clear the paused state of a host"),
          );
      },
      onFailure: (name: string) => events.publish("failed", kind, name),
      onSuccess: (name: string) => events.publish("reached", kind, name),
    }),

    /** Pauses the breakers as before a restart, so that a restart does not retry every message to a host that is down. */
    async restore(breakers: Breakers): Promise<void> {
      try {
        for (const { name: key, kind, until, why } of await table.active(clock.now()))
          breakers[kind].restore({ key, until, why });
      } catch (err) {
        log.warn({ err }, "outbound: failed to load the list of paused hosts; delivery to them resumes immediately");
      }
    },

    /**
     * Applies the changes of other processes to the breakers. `onReached`: called when another process has reached a
     * destination. Returns a function that ends the subscription.
     */
    follow: (breakers: Breakers, onReached: (destination: string) => void): (() => void) =>
      events.subscribe((change, kind, name, isEarlier) => {
        const listener = kind === "destination" ? onReached : undefined;
        adoptChange(breakers[kind], change, name, isEarlier, listener).catch((err: unknown) =>
          log.warn(
            { err },
            "outbound: failed to read the hosts paused by other processes; unreachable hosts will be retried",
          ),
        );
      }),
  };
}
