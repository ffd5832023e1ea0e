/** How long lines are buffered: one write per line would cost more than the line itself. */
const BATCH_MS = 4;

/** Console output in batches. A slow reader loses lines instead of using memory. */
export interface TerminalOutput {
  /** Writes one or more complete lines; `text` does not include the last line break. */
  write(text: string): void;
  /** True on a terminal without NO_COLOR: escape sequences are allowed. */
  readonly colour: boolean;
  /** Resolves when everything has been passed to the operating system, or when the reader has disconnected. */
  flushed(): Promise<void>;
}

interface Options {
  /** Maximum number of characters queued for a slow reader before lines are dropped. Default 1 MiB. */
  maxPending?: number;
  env?: NodeJS.ProcessEnv;
  /** Returns the text that replaces dropped lines. */
  dropped?: (lines: number) => string;
}

export function createTerminalOutput(stream: NodeJS.WritableStream, options: Options = {}): TerminalOutput {
  const {
    maxPending = 1024 * 1024,
    env = process.env,
    dropped: describeDropped = (lines) => `... ${lines} lines not shown: the reader of this output is too slow`,
  } = options;
  let pending = "";
  let dropped = 0;
  let isScheduled = false;
  let isBroken = false;
  let waiters: (() => void)[] = [];

  unblock(stream);
  // A closed pipe (`reelpost dev | head`) stops the output, not the server.
  stream.on("error", () => {
    isBroken = true;
    settle();
  });
  stream.on("drain", () => flush());

  function flush() {
    isScheduled = false;
    if (isBroken || needsDrain(stream)) return;
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
    for (const resolve of waiters.splice(0)) resolve();
  }

  return {
    colour: wantsColour(stream, env),
    write(text) {
      if (isBroken) return;
      if (pending.length + text.length > maxPending) {
        dropped += 1;
        return;
      }
      pending += `${text}\n`;
      if (isScheduled) return;
      isScheduled = true;
      setTimeout(flush, BATCH_MS);
    },
    flushed() {
      if (isBroken) return Promise.resolve();
      return new Promise((resolve) => {
        waiters.push(resolve);
        flush();
      });
    },
  };
}

const needsDrain = (stream: NodeJS.WritableStream) =>
  (stream as { writableNeedDrain?: boolean }).writableNeedDrain === true;

// https://no-color.org: disables colour if set and not empty, whatever its value.
function wantsColour(stream: NodeJS.WritableStream, env: NodeJS.ProcessEnv): boolean {
  return (stream as { isTTY?: boolean }).isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
}

// Node writes to pipes synchronously on POSIX: a stalled reader would block the entire server.
function unblock(stream: NodeJS.WritableStream) {
  if ((stream as { isTTY?: boolean }).isTTY === true) return;
  (stream as { _handle?: { setBlocking?: (isBlocking: boolean) => void } })._handle?.setBlocking?.(false);
}
