import { setTimeout as sleep } from "node:timers/promises";
import type { LiveNode } from "./platform.ts";

/** Writes items of one kind and keeps track of those that the platform has acknowledged. */
export interface Writer {
  kind: string;
  /** Milliseconds between two writes. */
  pauseMs: number;
  /** Writes item `n`. Throws if the platform did not acknowledge it. */
  write(n: number, stopping: AbortSignal): Promise<void>;
  /** Returns the number of acknowledged items. */
  acknowledged(): number;
  /** Returns descriptions of the acknowledged items that are missing or wrong on this node. */
  missing(node: LiveNode): Promise<string[]>;
  /** Returns the number of items that are stored more than once, by reason. Only for kinds that may repeat an item. */
  duplicates?(node: LiveNode): Promise<Record<string, number>>;
}

/** A request that takes longer counts as failed. Exceeds all time limits of the server. */
const WRITE_LIMIT_MS = 60_000;
const PAUSE_AFTER_FAILURE_MS = 100;
const CONCURRENT_CHECKS = 8;

interface Load {
  /** Number of failed writes of each kind, and the last error. */
  failed: Map<string, { count: number; last: string }>;
  /** Stops the writers. Resolves when the writes in progress have ended. */
  stop(): Promise<void>;
}

/** Runs all writers concurrently until stop(). Each writer performs one write at a time. */
export function startLoad(writers: readonly Writer[]): Load {
  const stopping = new AbortController();
  const failed: Load["failed"] = new Map();
  const lanes = writers.map(async ({ kind, pauseMs, write }) => {
    for (let n = 0; !stopping.signal.aborted; n++) {
      try {
        await within(WRITE_LIMIT_MS, write(n, stopping.signal));
      } catch (err) {
        failed.set(kind, { count: (failed.get(kind)?.count ?? 0) + 1, last: describe(err) });
        await sleep(PAUSE_AFTER_FAILURE_MS);
      }
      await sleep(pauseMs);
    }
  });
  return {
    failed,
    async stop() {
      stopping.abort();
      await Promise.all(lanes);
    },
  };
}

function describe(err: unknown): string {
  const { message, cause } = err as Error;
  return `${message}${cause instanceof Error ? `: ${cause.message}` : ""}`.slice(0, 300);
}

/** Rejects if `work` takes longer. */
async function within<Result>(ms: number, work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      work,
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no response within ${ms / 1000} s`)), ms);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** Calls `check` for each item, with a few concurrent calls. Returns the descriptions of problems that it returns. */
export async function checkItems<Item>(
  items: Iterable<Item>,
  check: (item: Item) => Promise<string | undefined>,
): Promise<string[]> {
  const waiting = [...items];
  const found: string[] = [];
  await Promise.all(
    Array.from({ length: CONCURRENT_CHECKS }, async () => {
      for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
        const problem = await within(WRITE_LIMIT_MS, check(item));
        if (problem !== undefined) found.push(problem);
      }
    }),
  );
  return found;
}
