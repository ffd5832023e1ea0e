import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { isRetriable } from "./errors.ts";
import { retryDelay } from "./requests.ts";

interface RangeStreamOptions {
  /** The first bytes of the object, which have already been read. */
  first: Buffer;
  start: number;
  /** Inclusive. */
  end: number;
  /** Requests the bytes from `position` to `end`. */
  request(position: number): Promise<Readable>;
  /** Converts the error of a response to the one that the reader gets. */
  failure(err: unknown): unknown;
}

const READ_SIZE_BYTES = 1024 * 1024;
/** Maximum number of consecutive interruptions without progress. */
const MAX_INTERRUPTIONS = 5;

/** Streams a range of an object. If a connection breaks, the rest is requested again. */
export function createRangeStream({ first, start, end, request, failure }: RangeStreamOptions): Readable {
  let position = start;
  let interruptions = 0;
  let body: Readable | undefined;
  let isRequesting = false;

  const stream = new Readable({
    highWaterMark: READ_SIZE_BYTES,
    read() {
      if (position > end) this.push(null);
      else if (position < first.length) {
        const chunk = first.subarray(position, Math.min(end + 1, first.length));
        position += chunk.length;
        this.push(chunk);
        // Does not wait for the reader: the object may be replaced while it handles the first bytes.
        if (position <= end) void requestRest();
      } else if (body !== undefined) body.resume();
      else if (!isRequesting) void requestRest();
    },
    destroy(reason, done) {
      body?.destroy();
      done(reason);
    },
  });

  async function requestRest(): Promise<void> {
    isRequesting = true;
    try {
      if (interruptions > 0) await sleep(retryDelay(interruptions), undefined, { ref: false });
      if (stream.destroyed) return;
      const received = await request(position);
      if (stream.destroyed) received.destroy();
      else forward(received);
    } catch (err) {
      stream.destroy(err as Error);
    } finally {
      isRequesting = false;
    }
  }

  function forward(received: Readable): void {
    const begunAt = position;
    body = received;
    received.on("data", (chunk: Buffer) => {
      const wanted = chunk.subarray(0, end + 1 - position);
      if (wanted.length === 0) return;
      position += wanted.length;
      if (!stream.push(wanted)) received.pause();
    });
    const onEnd = (err?: Error) => {
      if (body !== received) return;
      body = undefined;
      if (stream.destroyed) return;
      if (position > end) return void stream.push(null);
      interruptions = position > begunAt ? 0 : interruptions + 1;
      if (interruptions > MAX_INTERRUPTIONS || (err !== undefined && !isRetriable(err)))
        stream.destroy(failure(err ?? new Error("responses ended early")) as Error);
      else void requestRest();
    };
    received
      .once("end", () => onEnd())
      .once("error", onEnd)
      .once("close", () => onEnd());
    // The connection was lost before the listeners were added.
    if (received.destroyed) onEnd();
  }

  return stream;
}
