import { Writable } from "node:stream";
import type { EventReporter } from "../events.ts";

/** Destination of the program's log: reports each line as a notice, warning or error. */
export const createLogStream = (report: EventReporter): Writable =>
  new Writable({
    decodeStrings: false,
    write(line: string, _, done) {
      const { level, msg, err } = JSON.parse(line) as {
        level: number;
        msg?: string;
        err?: { message: string; stack?: string };
      };
      const text = [msg, err?.stack ?? err?.message].filter(Boolean).join("\n");
      report({ event: level >= 50 ? "error" : level >= 40 ? "warning" : "notice", text });
      done();
    },
  });
