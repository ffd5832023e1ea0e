import type { Log } from "../../kernel/index.ts";
import type { Trace } from "./types.ts";

/** Creates a trace with several listeners. An error in one is logged and affects neither the others nor the message. */
export function traceTo({ log, listeners }: { log: Log; listeners: Trace[] }): Trace {
  return (event) => {
    for (const listen of listeners) {
      try {
        listen(event);
      } catch (err) {
        log.error({ err, message: event.message, step: event.step }, "mail: trace listener failed");
      }
    }
  };
}
