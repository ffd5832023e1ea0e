import { streamErrors } from "../errors.ts";
import type { MediaRun } from "./port.ts";

export type Urgency = NonNullable<MediaRun["urgency"]>;

/** Admission control for runs. Awaited runs do not queue behind background runs: each kind has its own slots. */
interface RunSlots {
  /**
   * Resolves with a function that releases the slot. Throws encoderBusy if too many are waiting; rejects with the
   * signal's reason.
   */
  acquire(urgency: Urgency, signal: AbortSignal): Promise<() => void>;
  waiting(urgency: Urgency): number;
  running(): number;
}

interface RunSlotsOptions {
  /** Number of slots for urgent runs, one of which `soon` runs leave free, and for background runs. */
  urgent: number;
  background: number;
  /** Maximum number of waiting runs per urgency. */
  maxWaiting: number;
}

export function createRunSlots({ urgent, background, maxWaiting }: RunSlotsOptions): RunSlots {
  const queues: Record<Urgency, (() => void)[]> = { urgent: [], soon: [], background: [] };
  const runningCounts: Record<Urgency, number> = { urgent: 0, soon: 0, background: 0 };
  const maxSoonRuns = Math.max(1, urgent - 1);

  function hasFreeSlot(urgency: Urgency): boolean {
    if (urgency === "background") return runningCounts.background < background;
    if (runningCounts.urgent + runningCounts.soon >= urgent) return false;
    return urgency === "urgent" || (runningCounts.soon < maxSoonRuns && queues.urgent.length === 0);
  }

  function admit() {
    for (const urgency of ["urgent", "soon", "background"] as const) {
      while (queues[urgency].length > 0 && hasFreeSlot(urgency)) queues[urgency].shift()!();
    }
  }

  function occupySlot(urgency: Urgency): () => void {
    runningCounts[urgency]++;
    let hasLeft = false;
    return () => {
      if (hasLeft) return;
      hasLeft = true;
      runningCounts[urgency]--;
      admit();
    };
  }

  return {
    async acquire(urgency, signal) {
      signal.throwIfAborted();
      const queue = queues[urgency];
      if (queue.length === 0 && hasFreeSlot(urgency)) return occupySlot(urgency);
      if (queue.length >= maxWaiting) throw streamErrors.encoderBusy({ waiting: queue.length });
      return new Promise((resolve, reject) => {
        const onAbort = () => {
          queue.splice(queue.indexOf(grantSlot), 1);
          reject(signal.reason as Error);
          admit();
        };
        const grantSlot = () => {
          signal.removeEventListener("abort", onAbort);
          resolve(occupySlot(urgency));
        };
        queue.push(grantSlot);
        signal.addEventListener("abort", onAbort, { once: true });
      });
    },
    waiting: (urgency) => queues[urgency].length,
    running: () => runningCounts.urgent + runningCounts.soon + runningCounts.background,
  };
}
