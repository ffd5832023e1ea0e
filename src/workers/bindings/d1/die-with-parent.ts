import { Worker } from "node:worker_threads";

const GUARD_SCRIPT =
  "const { workerData } = require('node:worker_threads'); setInterval(() => process.ppid === workerData || process.kill(process.pid, 'SIGKILL'), 1000)";

/**
 * A killed server cannot kill its endless queries, but this thread can: it runs while the main thread is inside SQLite.
 */
export function dieWithParent(): void {
  new Worker(GUARD_SCRIPT, {
    eval: true,
    workerData: process.ppid,
    resourceLimits: { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 2 },
  }).unref();
}
