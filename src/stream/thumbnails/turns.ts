import { streamErrors } from "../errors.ts";

/** One after the other, for each video by itself: whoever asks for a thousand pictures of one keeps nobody from those of another. */
export interface ImageTurns {
  /** Throws encoderBusy when too many of this video wait already. */
  take<Result>(uid: string, work: () => Promise<Result>): Promise<Result>;
}

interface Queue {
  running: number;
  waiting: (() => void)[];
}

/** Both of one video. */
export const TURNS = { atOnce: 2, waiting: 50 };

export function createImageTurns({ atOnce, waiting: most } = TURNS): ImageTurns {
  const queues = new Map<string, Queue>();

  async function enter(uid: string): Promise<() => void> {
    const queue = queues.get(uid) ?? { running: 0, waiting: [] };
    queues.set(uid, queue);
    if (queue.running < atOnce) queue.running++;
    else if (queue.waiting.length >= most) throw streamErrors.encoderBusy({ waiting: queue.waiting.length });
    // Whoever leaves hands on the place.
    else await new Promise<void>((resolve) => queue.waiting.push(resolve));
    return () => {
      const next = queue.waiting.shift();
      if (next !== undefined) next();
      else if (--queue.running === 0) queues.delete(uid);
    };
  }

  return {
    async take(uid, work) {
      const leave = await enter(uid);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
