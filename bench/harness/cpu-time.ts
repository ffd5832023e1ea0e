import { readFileSync } from "node:fs";

/** Linux counts in hundredths of a second (`getconf CLK_TCK`). */
const TICKS_PER_SECOND = 100;

/** Seconds of CPU that a process has used so far, in user and kernel mode, all threads together (proc_pid_stat(5)). */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The name of the program is in brackets and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
