import { readFileSync } from "node:fs";

/** Linux counts in hundredths of a second (`getconf CLK_TCK`). */
const TICKS_PER_SECOND = 100;

/**
 * Seconds of CPU time that a process has used in user and kernel mode, including all its threads (proc_pid_stat(5)).
 */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The program name is in parentheses and may contain anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
