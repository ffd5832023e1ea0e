import { isIP } from "node:net";
import { join } from "node:path";
import { createOwnAddresses, type OwnAddresses } from "../kernel/own-addresses.ts";
import { parseIdRange } from "../kernel/privileges.ts";
import type { Settings } from "../kernel/settings.ts";
import type { EgressPolicy, RuntimeLimits, RuntimeOptions } from "../workers/index.ts";

/** The settings `workers` and `egress` as runtime limits. */
export const limitsOf = ({ workers }: Settings): RuntimeLimits => ({
  cpuMs: workers.cpu_ms,
  emailWallMs: workers.email_wall_ms,
  scheduledWallMs: workers.scheduled_wall_ms,
  heapMb: workers.heap_mb,
  rssMb: workers.rss_mb,
});

export const processesOf = ({ workers }: Settings) =>
  ({
    concurrency: workers.concurrency,
    maxProcesses: workers.max_processes,
    idleMs: workers.idle_ms,
    uidRange: parseIdRange(workers.uid_range),
  }) satisfies Partial<RuntimeOptions>;

/** The configured ports of all processes on this machine, except HTTP, which is public. */
export const ownAddressesOf = ({ network, smtp, submission, dns, live }: Settings): OwnAddresses =>
  createOwnAddresses({
    addresses: [...network.own_addresses, ...live.webrtc_addresses.filter((address) => isIP(address) !== 0)],
    ports: [smtp.port, submission.port, dns.port, live.rtmp_port, live.rtmps_port],
  });

export const egressOf = ({ egress }: Settings, own?: OwnAddresses): EgressPolicy => ({
  ...(own && { own }),
  allowLoopback: egress.allow_loopback,
  allowPrivate: egress.allow_private,
  denyPorts: egress.deny_ports,
  allow: egress.allow,
});

/** Folder for worker processes in the data directory, accessible only to the server. */
export const runFolderOf = (dataDirectory: string): string => join(dataDirectory, "run");
