import { statfs } from "node:fs/promises";
import type { DatabaseTime } from "../cluster/index.ts";
import { messageOf, type Clock, utcDay } from "../kernel/index.ts";
import type { Settings } from "../kernel/settings.ts";
import type { Mail } from "../mail/index.ts";
import type { ServeCertificates } from "./certificates.ts";
import type { Finding } from "./doctor/finding.ts";

interface ComponentHealth {
  name: string;
  status: "ok" | "warning" | "error";
  /** A sentence. */
  reason: string;
  fix: string | null;
}

interface HealthCheckDeps {
  settings: Pick<Settings, "data_dir" | "outbound">;
  mail: { queue: Pick<Mail["queue"], "paused"> };
  certificates: Pick<ServeCertificates, "list">;
  confinement(): Promise<Finding[]>;
  /** Rejects if the database does not respond. */
  ready(): Promise<void>;
  clock: Pick<Clock, "now">;
  /** Only on PostgreSQL. */
  databaseTime: Pick<DatabaseTime, "state"> | undefined;
}

const DAY_MS = 24 * 3_600_000;
const SOON_DAYS = 14;
const GIB = 1024 ** 3;
/** Free share of the disk below which something is wrong, and below which writes may soon fail. */
const LOW_SHARE = 0.1;
const CRITICAL_SHARE = 0.03;
const CACHE_MS = 10_000;

/**
 * Creates a function that resolves with the state of the server's components, as seen by this process; at most ten
 * seconds old.
 */
export function createHealthChecks(deps: HealthCheckDeps): () => Promise<ComponentHealth[]> {
  let last: { at: number; result: Promise<ComponentHealth[]> } | undefined;
  return () => {
    const now = deps.clock.now();
    if (last === undefined || now - last.at >= CACHE_MS) last = { at: now, result: checkAll(deps) };
    return last.result;
  };
}

/** Never rejects: a failed check is a finding. */
async function checkAll(deps: HealthCheckDeps): Promise<ComponentHealth[]> {
  const checks: [name: string, check: () => Promise<ComponentHealth[]>][] = [
    ["Database", () => checkDatabase(deps)],
    ["Clock", async () => checkClock(deps)],
    ["Disk", () => checkDisk(deps)],
    ["Outgoing mail", async () => [checkDelivery(deps)]],
    ["Certificates", () => checkCertificates(deps)],
    ["Confinement", () => checkConfinement(deps)],
  ];
  const results = await Promise.all(
    checks.map(([name, check]) =>
      check().catch((err: unknown): ComponentHealth[] => [
        { name, status: "error", reason: messageOf(err), fix: "See the server log." },
      ]),
    ),
  );
  return results.flat();
}

const ok = (name: string, reason: string): ComponentHealth => ({ name, status: "ok", reason, fix: null });

async function checkDatabase({ ready }: HealthCheckDeps): Promise<ComponentHealth[]> {
  const before = performance.now();
  await ready();
  return [ok("Database", `It responds in ${Math.ceil(performance.now() - before)} ms.`)];
}

function checkClock({ databaseTime }: HealthCheckDeps): ComponentHealth[] {
  if (databaseTime === undefined) return [];
  const { differenceMs, agrees } = databaseTime.state();
  const reason = `The clock of this machine differs by ${Math.abs(differenceMs / 1000).toFixed(2)} s from that of the database.`;
  if (agrees) return [ok("Clock", reason)];
  return [{ name: "Clock", status: "error", reason, fix: "Synchronize both machines with NTP." }];
}

async function checkDisk({ settings }: HealthCheckDeps): Promise<ComponentHealth[]> {
  const { bavail, blocks, bsize } = await statfs(settings.data_dir);
  const share = blocks === 0 ? 1 : bavail / blocks;
  const reason = `${((bavail * bsize) / GIB).toFixed(1)} GiB of ${((blocks * bsize) / GIB).toFixed(1)} GiB are free.`;
  if (share >= LOW_SHARE) return [ok("Disk", reason)];
  return [
    {
      name: "Disk",
      status: share < CRITICAL_SHARE ? "error" : "warning",
      reason,
      fix: "Free up space on the disk that contains the data directory: mail and uploads are rejected when it is full.",
    },
  ];
}

function checkDelivery({ settings: { outbound }, mail }: HealthCheckDeps): ComponentHealth {
  const name = "Outgoing mail";
  if (outbound.deliver === "files")
    return {
      name,
      status: "warning",
      reason: "Nothing is sent: messages are written to files.",
      fix: "Set outbound.deliver to mx or smart_host.",
    };
  const paused = mail.queue.paused();
  if (paused.length === 0) return ok(name, "No destination is paused.");
  return {
    name,
    status: "warning",
    reason: `${paused.length} ${paused.length === 1 ? "destination is" : "destinations are"} paused after failures, for example ${paused[0]!.name}: ${paused[0]!.why}.`,
    fix: "Run `reelpost email queue list` for the replies of the receiving servers.",
  };
}

async function checkCertificates({ certificates, clock }: HealthCheckDeps): Promise<ComponentHealth[]> {
  const name = "Certificates";
  const listed = await certificates.list();
  const failed = listed.find(({ error }) => error !== null);
  if (failed !== undefined)
    return [
      {
        name,
        status: failed.notAfter === null || failed.notAfter < clock.now() ? "error" : "warning",
        reason: `The certificate for ${failed.names[0]} was not issued: ${failed.error}`,
        fix: "Run `reelpost doctor` for that name; it is requested again automatically.",
      },
    ];
  const expiring = listed
    .filter(({ source, notAfter }) => source !== "acme" && notAfter !== null)
    .filter(({ notAfter }) => notAfter! - clock.now() < SOON_DAYS * DAY_MS);
  if (expiring.length > 0)
    return [
      {
        name,
        status: expiring[0]!.notAfter! < clock.now() ? "error" : "warning",
        reason: `The certificate for ${expiring[0]!.names[0]} expires on ${utcDay(expiring[0]!.notAfter!)}.`,
        fix: "Replace the file in tls.cert_file, or set tls.acme_directory for automatic renewal.",
      },
    ];
  return [
    listed.some(({ source }) => source === "self-signed")
      ? {
          name,
          status: "warning",
          reason: "The certificate is self-signed: clients cannot verify the server.",
          fix: "Set tls.acme_directory or tls.cert_file.",
        }
      : ok(name, `${listed.length} valid.`),
  ];
}

async function checkConfinement({ confinement }: HealthCheckDeps): Promise<ComponentHealth[]> {
  return (await confinement()).map(({ check, status, found = "", fix = null }) => ({
    name: `${check[0]!.toUpperCase()}${check.slice(1)}`,
    status,
    reason: found === "" ? "" : `${found[0]!.toUpperCase()}${found.slice(1)}.`,
    fix,
  }));
}
