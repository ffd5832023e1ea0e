import type { Clock } from "../../kernel/index.ts";

/**
 * Wakes one sleeper. A signal that arrives while no one sleeps is remembered, so that none is lost between checking and
 * sleeping.
 */
interface WakeSignal {
  ring(): void;
  /** Waits for the signal, at most `ms`. */
  wait(ms: number): Promise<void>;
}

export function createWakeSignal(clock: Clock): WakeSignal {
  let rung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      rung = true;
      wake?.();
    },
    async wait(ms) {
      if (!rung) {
        const sleep = new AbortController();
        wake = () => sleep.abort();
        await clock.sleep(ms, sleep.signal).catch(() => {});
        wake = undefined;
      }
      rung = false;
    },
  };
}
