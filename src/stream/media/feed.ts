import { Writable } from "node:stream";

/** Input for a child that may not have started yet, and may exit before the writer notices. */
interface ChildInput {
  /** Never emits "error". Its `writableLength` is the input that the child has not read. */
  stdin: Writable;
  /** Forwards all input from now on; `onTaken` is called as chunks are read. May be called only once. */
  connect(target: Writable, onTaken: () => void): void;
  /** Discards all input from now on. Call it when the reader has stopped. */
  discard(): void;
}

export function createChildInput(): ChildInput {
  let target: Writable | undefined;
  let handleTaken = () => {};
  let isGone = false;
  /** The chunk that waits for the child to start or for the pipe. One at a time, as in all streams. */
  let pendingSend: (() => void) | undefined;
  let callback: (() => void) | undefined;

  function passChunk(send: (to: Writable, sent: () => void) => void, next: () => void) {
    if (isGone) return next();
    callback = next;
    pendingSend = () => send(target!, settle);
    if (target !== undefined) start();
  }

  function start() {
    const send = pendingSend;
    pendingSend = undefined;
    send?.();
  }

  function settle() {
    const next = callback;
    callback = undefined;
    handleTaken();
    next?.();
  }

  function discard() {
    isGone = true;
    target = undefined;
    pendingSend = undefined;
    settle();
  }

  const stdin = new Writable({
    highWaterMark: 1024 * 1024,
    write: (chunk: Buffer, _encoding, next) => passChunk((to, sent) => void to.write(chunk, sent), next),
    writev: (chunks, next) =>
      passChunk((to, sent) => {
        to.cork();
        for (const [i, { chunk }] of chunks.entries())
          to.write(chunk as Buffer, i === chunks.length - 1 ? sent : undefined);
        to.uncork();
      }, next),
    final: (next) => passChunk((to, sent) => void to.end(sent), next),
  });

  return {
    stdin,
    connect(next, onTaken) {
      // The child has ended: unread input is lost, and its exit reports the end.
      next.on("error", discard);
      if (isGone) return void next.destroy();
      target = next;
      handleTaken = onTaken;
      start();
    },
    discard,
  };
}
