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
  let isRung = false;
  let wakeSleeper: (() => void) | undefined;
  return {
    ring() {
      isRung = true;
      wakeSleeper?.();
    },
    async wait(ms) {
      if (!isRung) {
        const sleepController = new AbortController();
        wakeSleeper = () => sleepController.abort();
        await clock.sleep(ms, sleepController.signal).catch(() => {});
        wakeSleeper = undefined;
      }
      isRung = false;
    },
  };
}
