import { styleText } from "node:util";

/** Lines wait this long for more of them: under load a write for each would cost more than the line. */
const BATCH_MS = 4;

/** Where the console writes: lines go out in batches, and a reader that is too slow costs lines, never memory. */
export interface Output {
  /** One or more whole lines, without the last line break. */
  write(text: string): void;
  /** Whether escape sequences are welcome: a terminal, and nobody set NO_COLOR. */
  readonly colour: boolean;
  /** Resolves when everything written so far was handed to the operating system, or nobody reads any more. */
  flushed(): Promise<void>;
}

type Paint = (format: Parameters<typeof styleText>[0], text: string) => string;

export const painter = (colour: boolean): Paint =>
  colour ? (format, text) => styleText(format, text, { validateStream: false }) : (_, text) => text;

interface Options {
  /** Characters that may wait for a slow reader before lines are dropped. Default 1 MiB. */
  maxPending?: number;
  env?: NodeJS.ProcessEnv;
  /** What is written in place of dropped lines. */
  dropped?: (lines: number) => string;
}

export function createOutput(stream: NodeJS.WritableStream, options: Options = {}): Output {
  const {
    maxPending = 1024 * 1024,
    env = process.env,
    dropped: describeDropped = (lines) => `... ${lines} lines not shown: the reader of this output is too slow`,
  } = options;
  let pending = "";
  let dropped = 0;
  let scheduled = false;
  let broken = false;
  let waiting: (() => void)[] = [];

  unblock(stream);
  // A closed pipe (`reelpost dev | head`) ends the output, not the server.
  stream.on("error", () => {
    broken = true;
    settle();
  });
  stream.on("drain", () => flush());

  function flush() {
    scheduled = false;
    if (broken || needsDrain(stream)) return;
    if (dropped > 0) {
      pending += `${describeDropped(dropped)}\n`;
      dropped = 0;
    }
    const text = pending;
    pending = "";
    if (text === "") return settle();
    stream.write(text, () => {
      if (pending === "") settle();
    });
  }

  function settle() {
    for (const resolve of waiting.splice(0)) resolve();
  }

  return {
    colour: wantsColour(stream, env),
    write(text) {
      if (broken) return;
      if (pending.length + text.length > maxPending) {
        dropped += 1;
        return;
      }
      pending += `${text}\n`;
      if (scheduled) return;
      scheduled = true;
      setTimeout(flush, BATCH_MS);
    },
    flushed() {
      if (broken) return Promise.resolve();
      return new Promise((resolve) => {
        waiting.push(resolve);
        flush();
      });
    },
  };
}

const needsDrain = (stream: NodeJS.WritableStream) =>
  (stream as { writableNeedDrain?: boolean }).writableNeedDrain === true;

// https://no-color.org: present and not empty, whatever its value.
function wantsColour(stream: NodeJS.WritableStream, env: NodeJS.ProcessEnv): boolean {
  return (stream as { isTTY?: boolean }).isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
}

// Node writes to pipes synchronously on POSIX: a reader that stops reading would stop the whole server.
function unblock(stream: NodeJS.WritableStream) {
  if ((stream as { isTTY?: boolean }).isTTY === true) return;
  (stream as { _handle?: { setBlocking?: (on: boolean) => void } })._handle?.setBlocking?.(false);
}
