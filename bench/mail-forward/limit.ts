import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BenchContext } from "../harness/bench.ts";

export interface LimitTask {
  /** The message, as base64. */
  octets: string;
  /** TXT records by name. */
  records: Record<string, string>;
  from: string;
}

export interface LimitRequest {
  messages: number;
  sessions: number;
}

/**
 * Starts a process that authenticates, seals and signs the same message, the least that forwarding requires. The
 * function that it resolves with measures the CPU time per message in milliseconds.
 */
export async function startLimit(
  kit: BenchContext,
  task: LimitTask,
): Promise<(request: LimitRequest) => Promise<number>> {
  const file = join(kit.dir, "limit.json");
  await writeFile(file, JSON.stringify(task));
  const child = fork(join(import.meta.dirname, "limit-worker.ts"), [file]);
  kit.onStop(() => void child.kill());
  return async (request) => {
    const stopped = new AbortController();
    const failed = once(child, "exit", { signal: stopped.signal }).then(([code]) => {
      throw new Error(`the process ended with exit code ${code}`);
    });
    child.send(request);
    try {
      const [ms] = (await Promise.race([once(child, "message", { signal: stopped.signal }), failed])) as [number];
      return ms;
    } finally {
      failed.catch(() => {});
      stopped.abort();
    }
  };
}
