import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const CHECK_MS = 5000;
/** Share of time the event loop may be busy: a collection stops it for about 50 ms. */
const IDLE_UTILIZATION = 0.2;

type Collect = (options: { type: "major"; flavor: "last-resort" }) => void;

/**
 * Returns to the operating system the memory that only startup needed, once the process is idle: loading the modules
 * grows V8's young generation to its maximum, and V8 shrinks it only in a full collection, which an idle process never
 * triggers. Returns a function that cancels it.
 */
export function releaseStartMemory({
  checkMs = CHECK_MS,
  collect = collectGarbage,
}: { checkMs?: number; collect?: () => void } = {}): () => void {
  let previous = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, previous);
    previous = now;
    if (utilization > IDLE_UTILIZATION) return;
    clearInterval(timer);
    collect();
  }, checkMs).unref();
  return () => clearInterval(timer);
}

function collectGarbage(): void {
  // Node offers no other access to V8's collector. The flag affects only contexts that are created while it is set.
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as Collect;
  setFlagsFromString("--no-expose-gc");
  // Only a collection of last resort gives up the memory of the young generation.
  collect({ type: "major", flavor: "last-resort" });
}
