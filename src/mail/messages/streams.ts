import { Readable } from "node:stream";

/**
 * Returns a stream of `head` followed by `rest`. Destroying it destroys `rest` too, even before the first read. An
 * async generator cannot do that: before it starts, it runs no `finally`, so the descriptor of `rest` would stay open.
 */
export function prependedStream(head: Uint8Array, rest: Readable): Readable {
  const chunks = (rest as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  let isHeadSent = head.length === 0;
  // The iterator reports an error of `rest` on its next read. Without a listener, an error of an unread stream would
  // crash the process.
  rest.on("error", () => {});
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      if (isHeadSent) return chunks.next();
      isHeadSent = true;
      return { value: head, done: false };
    },
    async return() {
      closeStream(rest);
      return { value: undefined, done: true };
    },
  };
  return Readable.from({ [Symbol.asyncIterator]: () => iterator }, { objectMode: false });
}

/** Closes the file or socket behind `raw`, whether it was read or not. */
export function closeStream(raw: Readable | Uint8Array): void {
  if (raw instanceof Readable) raw.destroy();
}
