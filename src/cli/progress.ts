import { formatSize } from "../kernel/text.ts";
import type { Output } from "./command.ts";

/** Shows the current step on the last line of a terminal. Prints nothing elsewhere: a log needs only the result. */
export interface Progress {
  step(text: string): void;
  /**
   * Counts the bytes of a transfer. Displayed after two seconds, with the remaining time if the size is known. `from`:
   * bytes transferred previously.
   */
  meter(text: string, total?: number, from?: number): (octets: number) => void;
  /** Clears the line. */
  clear(): void;
}

const QUIET_MS = 2000;
const EVERY_MS = 200;

export function createProgress(
  { stream, isTerminal, width }: Pick<Output, "stream" | "isTerminal" | "width">,
  now: () => number = () => performance.now(),
): Progress {
  if (!isTerminal) return { step() {}, meter: () => () => {}, clear() {} };
  let shown = false;
  const show = (text: string) => {
    shown = true;
    stream.write(`\r\u001B[K${text.length < width ? text : text.slice(0, width - 1)}`);
  };
  return {
    step: show,
    meter(text, total, from = 0) {
      const began = now();
      let [done, last] = [from, began + QUIET_MS - EVERY_MS];
      return (octets) => {
        done += octets;
        const time = now();
        if (time - last < EVERY_MS) return;
        last = time;
        show(`${text}  ${meterText(done, total, (time - began) / Math.max(1, done - from))}`);
      };
    },
    clear() {
      if (shown) stream.write("\r\u001B[K");
      shown = false;
    },
  };
}

/** `pace`: milliseconds per byte. */
function meterText(done: number, total: number | undefined, pace: number): string {
  if (total === undefined || total === 0) return formatSize(done);
  const left = Math.ceil(((total - done) * pace) / 1000);
  return `${Math.floor((100 * done) / total)}% of ${formatSize(total)}, ${left < 100 ? `${left} s` : `${Math.ceil(left / 60)} min`} left`;
}
