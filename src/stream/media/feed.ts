import { Writable } from "node:stream";

/** What is written for a child that may not be there yet, and may be gone before the writer knows. */
export interface Feed {
  /** Never emits "error". Its `writableLength` is what the child has not taken. */
  stdin: Writable;
  /** Passes everything on from now; `onTaken` is called as pieces are taken. Once. */
  to(target: Writable, onTaken: () => void): void;
  /** Nobody reads it any more: everything goes nowhere from now on. */
  discard(): void;
}

export function createFeed(): Feed {
  let target: Writable | undefined;
  let taken = () => {};
  let gone = false;
  /** What waits for the child to be there, or for the pipe to take it; one at a time, as streams have it. */
  let waiting: (() => void) | undefined;
  let callback: (() => void) | undefined;

  function pass(send: (to: Writable, sent: () => void) => void, next: () => void) {
    if (gone) return next();
    callback = next;
    waiting = () => send(target!, settle);
    if (target !== undefined) start();
  }

  function start() {
    const send = waiting;
    waiting = undefined;
    send?.();
  }

  function settle() {
    const next = callback;
    callback = undefined;
    taken();
    next?.();
  }

  function discard() {
    gone = true;
    target = undefined;
    waiting = undefined;
    settle();
  }

  const stdin = new Writable({
    highWaterMark: 1024 * 1024,
    write: (chunk: Buffer, _encoding, next) => pass((to, sent) => void to.write(chunk, sent), next),
    writev: (chunks, next) =>
      pass((to, sent) => {
        to.cork();
        for (const [i, { chunk }] of chunks.entries())
          to.write(chunk as Buffer, i === chunks.length - 1 ? sent : undefined);
        to.uncork();
      }, next),
    final: (next) => pass((to, sent) => void to.end(sent), next),
  });

  return {
    stdin,
    to(next, onTaken) {
      // The child ended: what it did not take is lost with it, and its end is told by its exit.
      next.on("error", discard);
      if (gone) return void next.destroy();
      target = next;
      taken = onTaken;
      start();
    },
    discard,
  };
}
