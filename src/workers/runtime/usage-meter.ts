import { readFileSync } from "node:fs";
import type { InvocationOutcome, WorkerUsage } from "./port.ts";

type Outcome = InvocationOutcome["outcome"];

/** Measures what the invocations of one process use. */
export interface UsageMeter {
  begin(): MeteredInvocation;
  /** The worker sent a request: a fetch, or a call of a binding. */
  subrequest(): void;
  /** Reports everything up to now. Also runs automatically while there is something to report. */
  sample(): void;
  stop(): void;
}

interface MeteredInvocation {
  /** `outcome` is undefined for an invocation that must not be reported. */
  ended(outcome: Outcome | undefined): void;
}

interface UsageMeterOptions {
  /** CPU time of the process in microseconds; undefined if it cannot be read. */
  cpuUs(): number | undefined;
  emit(usage: Pick<WorkerUsage, "subrequests" | "cpuTimes">): void;
  intervalMs?: number;
}

const SAMPLE_MS = 250;

/**
 * workerd does not report CPU time. The CPU time of the process is therefore divided equally, four times per second,
 * among the invocations that ran in that time. This is exact for a single invocation and an average for many; a
 * measurement of each one would cost as much as a short invocation. An idle process is not sampled.
 */
export function createUsageMeter({ cpuUs: read, emit, intervalMs = SAMPLE_MS }: UsageMeterOptions): UsageMeter {
  const running = new Set<{ chargedUs: number }>();
  /** Invocations that have ended since the last sample. */
  let ended: { chargedUs: number; outcome: Outcome | undefined }[] = [];
  let subrequests = 0;
  let lastUs = read();
  let timer: NodeJS.Timeout | undefined;

  function sample() {
    const nowUs = read();
    const usedUs = nowUs === undefined || lastUs === undefined ? undefined : Math.max(0, nowUs - lastUs);
    lastUs = nowUs ?? lastUs;
    const shareUs = (usedUs ?? 0) / Math.max(1, running.size + ended.length);
    for (const invocation of running) invocation.chargedUs += shareUs;
    if (ended.length > 0 || subrequests > 0) {
      const counts = new Map<string, WorkerUsage["cpuTimes"][number]>();
      // Without a measurement, no CPU time is reported.
      for (const { chargedUs, outcome } of usedUs === undefined ? [] : ended) {
        if (outcome === undefined) continue;
        const us = Math.round(chargedUs + shareUs);
        const key = `${outcome} ${us}`;
        const entry = counts.get(key);
        if (entry === undefined) counts.set(key, { outcome, us, count: 1 });
        else entry.count++;
      }
      const usage = { subrequests, cpuTimes: [...counts.values()] };
      ended = [];
      subrequests = 0;
      emit(usage);
    }
    if (running.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  const arm = () => void (timer ??= setInterval(sample, intervalMs).unref());

  return {
    begin() {
      const invocation = { chargedUs: 0, outcome: undefined as Outcome | undefined };
      running.add(invocation);
      arm();
      return {
        ended(outcome) {
          if (!running.delete(invocation)) return;
          invocation.outcome = outcome;
          ended.push(invocation);
          arm();
        },
      };
    },
    subrequest() {
      subrequests++;
      arm();
    },
    sample,
    stop() {
      clearInterval(timer);
      sample();
      clearInterval(timer);
    },
  };
}

/**
 * Returns the CPU time of the main thread of a process, in which workers run. Undefined without /proc, or if the
 * process has ended.
 */
export function readMainThreadUs(pid: number): number | undefined {
  try {
    // The first field is the time on the CPU in nanoseconds: Documentation/scheduler/sched-stats of Linux.
    return Number(readFileSync(`/proc/${pid}/schedstat`, "latin1").split(" ", 1)[0]) / 1000;
  } catch {
    return undefined;
  }
}

/** True if the main thread of a process waits for an event. Also true without /proc, or if the process has ended. */
export function isMainThreadAsleep(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The state follows the program name, which is in parentheses and may contain anything: proc_pid_stat(5).
    return stat.at(stat.lastIndexOf(")") + 2) === "S";
  } catch {
    return true;
  }
}

/** For tests, and processes that are not measured. */
export const noUsageMeter: Pick<UsageMeter, "begin"> = { begin: () => ({ ended() {} }) };
