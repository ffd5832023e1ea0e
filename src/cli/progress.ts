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
const UPDATE_INTERVAL_MS = 200;

export function createProgress(
  { stream, isTerminal, width }: Pick<Output, "stream" | "isTerminal" | "width">,
  now: () => number = () => performance.now(),
): Progress {
  if (!isTerminal) return { step() {}, meter: () => () => {}, clear() {} };
  let isShown = false;
  const show = (text: string) => {
    isShown = true;
    stream.write(`\r\u001B[K${text.length < width ? text : text.slice(0, width - 1)}`);
  };
  return {
    step: show,
    meter(text, total, from = 0) {
      const startedAt = now();
      let [done, last] = [from, startedAt + QUIET_MS - UPDATE_INTERVAL_MS];
      return (octets) => {
        done += octets;
        const time = now();
        if (time - last < UPDATE_INTERVAL_MS) return;
        last = time;
        show(`${text}  ${meterText(done, total, (time - startedAt) / Math.max(1, done - from))}`);
      };
    },
    clear() {
      if (isShown) stream.write("\r\u001B[K");
      isShown = false;
    },
  };
}

/** `msPerOctet`: milliseconds per byte. */
function meterText(done: number, total: number | undefined, msPerOctet: number): string {
  if (total === undefined || total === 0) return formatSize(done);
  const left = Math.ceil(((total - done) * msPerOctet) / 1000);
  return `${Math.floor((100 * done) / total)}% of ${formatSize(total)}, ${left < 100 ? `${left} s` : `${Math.ceil(left / 60)} min`} left`;
}
