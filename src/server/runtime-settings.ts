import type { Settings } from "../kernel/settings.ts";
import type { EgressPolicy, RuntimeLimits, RuntimeOptions } from "../workers/index.ts";

/** The settings of `workers` and `egress`, in the runtime's own words. */
export const limitsOf = ({ workers }: Settings): RuntimeLimits => ({
  cpuMs: workers.cpu_ms,
  emailWallMs: workers.email_wall_ms,
  scheduledWallMs: workers.scheduled_wall_ms,
  heapMb: workers.heap_mb,
  rssMb: workers.rss_mb,
});

export const processesOf = ({ workers }: Settings) =>
  ({ concurrency: workers.concurrency, maxProcesses: workers.max_processes, idleMs: workers.idle_ms }) satisfies Partial<RuntimeOptions>;

export const egressOf = ({ egress }: Settings): EgressPolicy => ({ allowLoopback: egress.allow_loopback, allowPrivate: egress.allow_private, denyPorts: egress.deny_ports, allow: egress.allow });
