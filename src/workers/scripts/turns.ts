import { workerErrors } from "../errors.ts";

/** Runs tasks with the same key one after the other, in order of the calls. */
export interface Turns {
  /** Throws tooManyDeploys if `limit` calls are already waiting. */
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
