import { setImmediate } from "node:timers/promises";
import { analyticsErrors } from "../errors.ts";
import type { AnalyticsLimits } from "../limits.ts";
import type { SqlValue } from "./values.ts";

/** Measures the time and memory of one query, and lets other work of the process run in between. */
export interface QueryBudget {
  /** Call it for each operation. Throws tooSlow. */
  checkTime(): void;
  /**
   * Call it for each point and row, and wait for the result. Throws tooSlow. Resolves after other work has run, if the
   * query has blocked it for a while.
   */
  pause(): Promise<void> | undefined;
  /**
   * Counts a value that the query keeps in memory. The size in bytes is that of valueBytes(). Throws tooMuchMemory.
   */
  keep(bytes: number): void;
}

/** How long a query blocks other work of the process, unless one point takes longer. */
const SLICE_MS = 10;
/** Maximum time for one point or group, which cannot be interrupted. */
const MAX_SLICE_MS = 1000;
/** Memory of a value without its text. */
const VALUE_BYTES = 16;

/** Approximate memory of a value. V8 uses one or two bytes per UTF-16 code unit. */
export const valueBytes = (value: SqlValue): number => VALUE_BYTES + (typeof value === "string" ? 2 * value.length : 0);

export const formatMiB = (bytes: number): string => `${bytes / 1024 / 1024} MiB`;

export function createQueryBudget({
  queryMs,
  memoryBytes,
}: Pick<AnalyticsLimits, "queryMs" | "memoryBytes">): QueryBudget {
  const deadline = performance.now() + queryMs;
  let sliceStart = performance.now();
  let keptBytes = 0;

  function checkTime() {
    const now = performance.now();
    if (now > deadline) throw analyticsErrors.tooSlow({ limit: `${queryMs / 1000} seconds` });
    if (now - sliceStart > MAX_SLICE_MS)
      throw analyticsErrors.tooSlow({ limit: `${MAX_SLICE_MS / 1000} second for one point` });
  }

  async function runOtherWork() {
    await setImmediate();
    sliceStart = performance.now();
  }

  return {
    checkTime,
    pause() {
      checkTime();
      return performance.now() - sliceStart > SLICE_MS ? runOtherWork() : undefined;
    },
    keep(bytes) {
      keptBytes += bytes;
      if (keptBytes > memoryBytes) throw analyticsErrors.tooMuchMemory({ limit: formatMiB(memoryBytes) });
    },
  };
}
