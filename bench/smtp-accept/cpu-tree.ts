import { readdirSync, readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100;

/**
 * Seconds of CPU that a process and all its descendants have used so far, user and kernel, those that have ended included: each process
 * counts itself and the children it has waited for (utime, stime, cutime, cstime of proc_pid_stat(5)), which they in turn did with theirs.
 * To be read while all descendants are children of somebody in the tree, which is so for a master and its workers.
 */
export function cpuSecondsOfTree(root: number): number {
  const processes = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => statOf(Number(pid)));
  const children = Map.groupBy(processes, ({ parent }) => parent);
  let ticks = 0;
  const queue = processes.filter(({ pid }) => pid === root);
  for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
    ticks += one.ticks;
    queue.push(...(children.get(one.pid) ?? []));
  }
  return ticks / TICKS_PER_SECOND;
}

function statOf(pid: number): { pid: number; parent: number; ticks: number }[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The program name is in brackets and may contain anything.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return [
      {
        pid,
        parent: Number(fields[1]),
        ticks: [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0),
      },
    ];
  } catch {
    return [];
  }
}
