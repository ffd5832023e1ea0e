/** A hardware encoder that has written nothing for a long time: a driver may wait for its device forever. */
export class EncoderStalled extends Error {
  override readonly name = "EncoderStalled";
}

interface StallWatch {
  /** Aborted when the encoder has stalled. */
  signal: AbortSignal;
  /** Starts the watch. Call it when the encoder has started. */
  start(): void;
  /** Wraps a handler of output. Time in the handler does not count. */
  around(handle: (chunk: Buffer) => Promise<void>): (chunk: Buffer) => Promise<void>;
  /** Ends the watch with the run. Rejects with EncoderStalled if the encoder has stalled, else like the run. */
  until(run: Promise<unknown>): Promise<void>;
}

export function createStallWatch(encoder: string, stallMs: number): StallWatch {
  const stalled = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  let isRunning = false;
  let handlers = 0;

  function restart() {
    clearTimeout(timer);
    if (!isRunning || handlers > 0) return;
    timer = setTimeout(
      () => stalled.abort(new EncoderStalled(`${encoder} wrote nothing for ${stallMs} ms`)),
      stallMs,
    ).unref();
  }

  return {
    signal: stalled.signal,
    around: (handle) => async (chunk) => {
      handlers++;
      restart();
      try {
        await handle(chunk);
      } finally {
        handlers--;
        restart();
      }
    },
    start() {
      isRunning = true;
      restart();
    },
    async until(run) {
      try {
        await run;
      } catch (err) {
        throw stalled.signal.aborted ? stalled.signal.reason : err;
      } finally {
        isRunning = false;
        clearTimeout(timer);
      }
    },
  };
}
