/** Does things in order, also while something has to be waited for. */
export interface WaitingLine {
  /** At once, or when what is waited for is over. `bytes`: what it keeps in memory; where too much waits already it is left out. */
  push(what: () => void, bytes?: number): void;
  /** What is pushed from now on waits for it. Must not reject. */
  hold(until: Promise<void>): void;
  held(): boolean;
}

const MOST_BYTES = 32 * 1024 * 1024;

export function createWaitingLine(mostBytes = MOST_BYTES): WaitingLine {
  let waiting: { what: () => void; bytes: number }[] = [];
  let size = 0;
  let holding = false;

  function push(what: () => void, bytes = 0) {
    if (!holding) return what();
    if (bytes > 0 && size + bytes > mostBytes) return;
    waiting.push({ what, bytes });
    size += bytes;
  }

  return {
    push,
    held: () => holding,
    hold(until) {
      holding = true;
      void until.then(() => {
        holding = false;
        const rest = waiting;
        waiting = [];
        size = 0;
        // One of them may hold the line again: then those behind it wait again.
        for (const { what, bytes } of rest) push(what, bytes);
      });
    },
  };
}
