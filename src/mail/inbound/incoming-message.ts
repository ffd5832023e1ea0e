import { Readable } from "node:stream";

/** The content of a message as it arrives, and the result of the checks, which is known at its end. */
export interface IncomingData extends Readable {
  /** The kind of bare line ending (CR or LF) found in the message; the content after it was dropped. */
  stray?: "CR" | "LF" | undefined;
  /** True if the message is larger than the limit; the content beyond it was dropped. */
  oversized?: boolean;
}

/** The writing side of an incoming message. */
export interface IncomingMessage {
  readonly data: IncomingData;
  /** True if the reader is behind: push no content until `onDrain`. */
  isFull(): boolean;
  push(content: Buffer): void;
  end(result: { stray: "CR" | "LF" | undefined; oversized: boolean }): void;
  /** Discards the message, which will not be completed. */
  destroy(): void;
}

/** Maximum number of chunks waiting for the reader, each up to 64 KiB. */
const MAX_CHUNKS = 8;

export function createIncomingMessage(onDrain: () => void): IncomingMessage {
  let isFull = false;
  let complete = false;
  const data: IncomingData = new Readable({
    // In byte mode, waiting chunks would be joined, which copies them.
    objectMode: true,
    highWaterMark: MAX_CHUNKS,
    read() {
      if (!isFull) return;
      isFull = false;
      onDrain();
    },
    destroy(err, done) {
      // A reader that has given up never reads again; the rest of the message is skipped.
      if (isFull) {
        isFull = false;
        setImmediate(onDrain);
      }
      done(err);
    },
  });
  data.on("error", () => {});

  return {
    data,
    isFull: () => isFull,
    push(content) {
      if (!data.destroyed && !data.push(content)) isFull = true;
    },
    end({ stray, oversized }) {
      complete = true;
      data.stray = stray;
      data.oversized = oversized;
      if (!data.destroyed) data.push(null);
    },
    destroy() {
      if (!complete) data.destroy(new Error("the connection ended before the message was complete"));
    },
  };
}
