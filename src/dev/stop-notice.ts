import type { Lifecycle } from "../kernel/index.ts";
import type { EventReporter } from "./events.ts";

const DELAY_MS = 500;

/**
 * Reports a notice if stopping takes longer than half a second. Must be called before other stop functions are
 * registered: its own stop function then runs last.
 */
export function reportSlowStop(lifecycle: Lifecycle, report: EventReporter): void {
  let timer: NodeJS.Timeout | undefined;
  lifecycle.stopping.addEventListener("abort", () => {
    timer = setTimeout(
      () =>
        report({
          event: "notice",
          text: "Waiting for work in progress, up to a few seconds. Press Ctrl-C to stop immediately.",
        }),
      DELAY_MS,
    );
  });
  lifecycle.onStop("notice", () => clearTimeout(timer));
}
