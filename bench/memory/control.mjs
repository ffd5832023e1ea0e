// Loaded into a measured server with `node --expose-gc --import`: on SIGUSR2, collects garbage and prints its memory.
import { readFileSync } from "node:fs";

process.on("SIGUSR2", () => {
  // The second collection frees what the finalizers of the first released.
  for (let i = 0; i < 2; i++) globalThis.gc({ type: "major", flavor: "last-resort" });
  const rollup = readFileSync("/proc/self/smaps_rollup", "utf8");
  const { heapUsed, external } = process.memoryUsage();
  const anonymous = Number(/^Pss_Anon: +(\d+) kB$/m.exec(rollup)[1]) * 1024;
  process.stdout.write(`${JSON.stringify({ memory: { live: heapUsed + external, anonymous } })}\n`);
});
