import { readdirSync, readFileSync } from "node:fs";

const TICKS_PER_SECOND = 100;

/**
 * CPU seconds used so far by a process and all its descendants, user and kernel, including those that have exited: each
 * process counts itself and the children it has waited for (utime, stime, cutime, cstime of proc_pid_stat(5)),
 * recursively. Valid only while no descendant has been orphaned, as with a master and its workers.
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
    // The program name is in parentheses and may contain anything.
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
