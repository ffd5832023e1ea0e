import { workerErrors } from "../errors.ts";

/** One after the other for each key, in the order they were asked for. */
export interface Turns {
  /** Throws tooManyDeploys when `limit` wait already. */
  take<Result>(key: string, script: string, work: () => Promise<Result>): Promise<Result>;
}

export function createTurns(limit: number): Turns {
  const lines = new Map<string, { last: Promise<unknown>; waiting: number }>();
  return {
    async take(key, script, work) {
      const line = lines.get(key) ?? { last: Promise.resolve(), waiting: 0 };
      if (line.waiting > limit) throw workerErrors.tooManyDeploys({ limit, script });
      lines.set(key, line);
      line.waiting++;
      const mine = line.last.then(work);
      line.last = mine.catch(() => {});
      try {
        return await mine;
      } finally {
        if (--line.waiting === 0) lines.delete(key);
      }
    },
  };
}
