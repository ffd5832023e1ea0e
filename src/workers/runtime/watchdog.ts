import { readFileSync } from "node:fs";
import type { Outcome } from "./port.ts";

/** What a worker may use. workerd itself enforces none of this. */
export interface RuntimeLimits {
  /** CPU milliseconds of one invocation. */
  cpuMs: number;
  /** Milliseconds from the hand-over of a message to its handler's end. */
  emailWallMs: number;
  /** Milliseconds that a scheduled handler and its waitUntil() work may take. */
  scheduledWallMs: number;
  /** JavaScript heap of the process, in MiB. */
  heapMb: number;
  /** Resident memory of the process, in MiB: the heap and, beyond it, array buffers and messages in flight. */
  rssMb: number;
}

export const DEFAULT_LIMITS: RuntimeLimits = { cpuMs: 30_000, emailWallMs: 60_000, scheduledWallMs: 15 * 60_000, heapMb: 128, rssMb: 512 };

/** One reading of a process, both counted by the kernel. */
export interface Usage {
  /** User and system time, in ms. */
  cpuMs: number;
  rssMb: number;
}

export interface Watched {
  usage(): Usage | undefined;
  /** What is running now, each with the CPU time it has been charged so far. */
  running: ReadonlySet<{ chargedMs: number }>;
  kill(outcome: Outcome["outcome"], message: string): void;
}

export interface ProcessWatch {
  /** The process has done something that others can see: ended an invocation or asked for a binding. */
  activity(): void;
  /** Takes a reading and kills when a limit is passed. */
  sample(): void;
  stop(): void;
}

const SAMPLE_MS = 250;

/**
 * Looks at a process four times a second while it is up. A worker that spins blocks its whole process, so what counts is the CPU time that
 * passed without any sign of life; and since one that shows signs of life may still burn without end, the running invocations are
 * charged what the process burns, in equal shares. Both are measured against the same limit.
 */
export function watchProcess(watched: Watched, limits: Pick<RuntimeLimits, "cpuMs" | "rssMb">, intervalMs = SAMPLE_MS): ProcessWatch {
  let last: Usage | undefined;
  let silentMs = 0;

  function sample() {
    const usage = watched.usage();
    if (usage === undefined) return;
    const burnt = usage.cpuMs - (last?.cpuMs ?? 0);
    last = usage;
    silentMs += burnt;
    let highest = silentMs;
    for (const invocation of watched.running) {
      invocation.chargedMs += burnt / watched.running.size;
      highest = Math.max(highest, invocation.chargedMs);
    }
    if (usage.rssMb > limits.rssMb) watched.kill("exceededMemory", `Worker exceeded memory limit of ${limits.rssMb} MiB.`);
    else if (highest > limits.cpuMs) watched.kill("exceededCpu", `Worker exceeded CPU time limit of ${limits.cpuMs} ms.`);
  }

  const timer = setInterval(sample, intervalMs).unref();
  return {
    activity: () => void (silentMs = 0),
    sample,
    stop: () => clearInterval(timer),
  };
}

/** Linux counts CPU time in ticks of 1/100 s for everyone (USER_HZ, proc(5)). */
const MS_PER_TICK = 10;

/** Reads /proc; undefined where there is none or the process is gone. */
export function readUsage(pid: number): Usage | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program's name in parentheses and may hold anything; utime is the 12th after it, stime the 13th.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [, rssKb = "0"] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK, rssMb: Number(rssKb) / 1024 };
  } catch {
    return undefined;
  }
}
