import { readFileSync } from "node:fs";
import type { InvocationOutcome } from "./port.ts";

/** Limits of a worker. workerd itself enforces none of them. */
export interface RuntimeLimits {
  /** CPU milliseconds of one invocation. */
  cpuMs: number;
  /** Milliseconds from passing a message to its handler until the handler ends. */
  emailWallMs: number;
  /** Maximum milliseconds for a scheduled handler and its waitUntil() work. */
  scheduledWallMs: number;
  /** JavaScript heap of the process, in MiB. */
  heapMb: number;
  /** Resident memory of the process, in MiB: the heap plus array buffers and messages in flight. */
  rssMb: number;
}

export const DEFAULT_LIMITS: RuntimeLimits = {
  cpuMs: 30_000,
  emailWallMs: 60_000,
  scheduledWallMs: 15 * 60_000,
  heapMb: 128,
  rssMb: 512,
};

/** One sample of a process; the kernel counts both values. */
export interface Usage {
  /** User and system time, in ms. */
  cpuMs: number;
  rssMb: number;
}

interface Watched {
  usage(): Usage | undefined;
  kill(outcome: InvocationOutcome["outcome"], message: string): void;
  /** Clock in milliseconds, with an arbitrary epoch. Default: performance.now(). */
  now?(): number;
}

export interface ProcessWatch {
  /** An invocation begins. A `longLived` one (a WebSocket) is charged only for its last window. */
  begin(options?: { longLived?: boolean }): RunningInvocation;
  /**
   * An event of a Durable Object that the server did not start has ended. Those without a cause outside the process,
   * such as alarms, get a fixed share of the window, because a handler can set the next alarm.
   */
  objectEvent(event: { isAlarm: boolean }): void;
  /** The process showed activity: it called a binding or sent a fetch. */
  activity(): void;
  /** Takes a sample and kills the process if it exceeds a limit. */
  sample(): void;
  /** CPU time in the current window, in ms. */
  usedMs(): number;
  stop(): void;
}

export interface RunningInvocation {
  /** A WebSocket message from the client has been answered: the next one gets the full limit. */
  answered(): void;
  ended(): void;
}

const SAMPLE_MS = 250;
/**
 * Length of the window over which the whole process is charged, as a multiple of the CPU limit; also its number of
 * slots.
 */
const WINDOW_LIMITS = 10;
/**
 * Maximum number of unfinished invocations that count: requests held open must not increase the CPU time allowance.
 */
const MAX_BEGUN_INVOCATIONS = 4;
/** Maximum number of events without an external cause that count per window, which amounts to half of a core. */
const MAX_SELF_STARTED = 5;

/**
 * Samples a process four times per second and applies the CPU limit of an invocation in three ways. A spinning worker
 * blocks its whole process, so the process may not use the full limit without any activity. With activity, the CPU time
 * is divided among the running invocations. Since idle requests would dilute these shares, the whole process may use,
 * within a window, only the combined limits of the invocations that ended in it (and a few that began in it, or that it
 * started itself).
 */
export function watchProcess(
  { usage: read, kill, now = () => performance.now() }: Watched,
  limits: Pick<RuntimeLimits, "cpuMs" | "rssMb">,
  intervalMs = SAMPLE_MS,
): ProcessWatch {
  const runningInvocations = new Set<{ chargedMs: number; longLived: boolean }>();
  const window = createWindow(limits.cpuMs, now);
  // CPU time used before the watch began is not charged.
  let last = { usage: read(), at: now() };
  let silentMs = 0;

  function sample() {
    const usage = read();
    if (usage === undefined) return;
    const at = now();
    const usedMs = usage.cpuMs - (last.usage?.cpuMs ?? 0);
    const elapsedMs = at - last.at;
    last = { usage, at };
    silentMs += usedMs;
    let highest = silentMs;
    for (const invocation of runningInvocations) {
      invocation.chargedMs += usedMs / runningInvocations.size;
      if (invocation.longLived) invocation.chargedMs = Math.max(0, invocation.chargedMs - elapsedMs / WINDOW_LIMITS);
      highest = Math.max(highest, invocation.chargedMs);
    }
    const { usedMs: total, ended, begun, selfStarted } = window.add({ usedMs });
    const counted = ended + Math.min(begun, MAX_BEGUN_INVOCATIONS) + Math.min(selfStarted, MAX_SELF_STARTED);
    if (usage.rssMb > limits.rssMb) kill("exceededMemory", `Worker exceeded memory limit of ${limits.rssMb} MiB.`);
    else if (highest > limits.cpuMs || total > limits.cpuMs * Math.max(1, counted))
      kill("exceededCpu", `Worker exceeded CPU time limit of ${limits.cpuMs} ms.`);
  }

  function begin({ longLived = false } = {}): RunningInvocation {
    const invocation = { chargedMs: 0, longLived };
    runningInvocations.add(invocation);
    window.add({ begun: 1 });
    const settle = () => {
      invocation.chargedMs = 0;
      window.add({ ended: 1 });
      silentMs = 0;
    };
    return {
      answered: settle,
      ended: () => void (runningInvocations.delete(invocation) && settle()),
    };
  }

  const timer = setInterval(sample, intervalMs).unref();
  return {
    begin,
    objectEvent({ isAlarm }) {
      if (!isAlarm && runningInvocations.size > 0) return begin().ended();
      window.add({ selfStarted: 1 });
      silentMs = 0;
    },
    activity: () => void (silentMs = 0),
    sample,
    usedMs: () => window.add({}).usedMs,
    stop: () => clearInterval(timer),
  };
}

interface Tally {
  usedMs: number;
  begun: number;
  ended: number;
  selfStarted: number;
}

const NOTHING: Tally = { usedMs: 0, begun: 0, ended: 0, selfStarted: 0 };

/** Sums over the last WINDOW_LIMITS slots of `slotMs` each, including the current one. */
function createWindow(slotMs: number, now: () => number): { add(change: Partial<Tally>): Tally } {
  const slots: Tally[] = Array.from({ length: WINDOW_LIMITS }, () => ({ ...NOTHING }));
  const sum: Tally = { ...NOTHING };
  let current = Math.floor(now() / slotMs);

  function count(slot: Tally, { usedMs = 0, begun = 0, ended = 0, selfStarted = 0 }: Partial<Tally>, sign = 1) {
    slot.usedMs += sign * usedMs;
    slot.begun += sign * begun;
    slot.ended += sign * ended;
    slot.selfStarted += sign * selfStarted;
  }

  return {
    add(change) {
      const slot = Math.floor(now() / slotMs);
      for (let slotsLeft = Math.min(slot - current, WINDOW_LIMITS); slotsLeft > 0; slotsLeft--) {
        const oldest = slots.shift()!;
        count(sum, oldest, -1);
        slots.push({ ...NOTHING });
      }
      current = slot;
      count(slots.at(-1)!, change);
      count(sum, change);
      return sum;
    },
  };
}

/** Linux reports CPU time in ticks of 1/100 s to user space (USER_HZ, proc(5)). */
const MS_PER_TICK = 10;

/** Reads /proc; returns undefined if it does not exist or the process has ended. */
export function readProcessUsage(pid: number): Usage | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The second field is the program name in parentheses and may contain anything; utime is the 12th after it, stime
    // the 13th.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [, rssKb = "0"] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "latin1")) ?? [];
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK, rssMb: Number(rssKb) / 1024 };
  } catch {
    return undefined;
  }
}
