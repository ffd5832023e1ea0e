import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { scheduleBackups, type BackupSchedule } from "../backup/index.ts";
import { messageOf, type Basics } from "../kernel/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { serverErrors } from "./errors.ts";

// In the published build, this module is .js instead of .ts.
const MODULE = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./backup-process.ts" : "./backup-process.js", import.meta.url),
);

type Outcome = { id: string; files: number; bytes: number; addedBytes: number; warnings: string[]; removed: number };

/**
 * Creates backups at the times of `backup.schedule`. Throws noBackupFolder, and BackupError
 * badSchedule.
 */
export function startScheduledBackups(
  settings: Settings,
  { version, clock, log }: { version: string } & Pick<Basics, "clock" | "log">,
): BackupSchedule | undefined {
  const { schedule, dir } = settings.backup;
  if (schedule === "") return undefined;
  if (dir === "") throw serverErrors.noBackupFolder();
  const stopping = new AbortController();
  const backups = scheduleBackups(schedule, {
    clock,
    async work() {
      try {
        const { warnings, ...outcome } = await runBackup(settings, version, stopping.signal);
        for (const warning of warnings) log.warn({ backup: outcome.id }, `backup: ${warning}`);
        log.info({ ...outcome, folder: dir }, "backup: backup created");
      } catch (err) {
        if (!stopping.signal.aborted)
          log.error({ err, folder: dir }, "backup: failed to create a backup, will retry at the next scheduled time");
      }
    },
  });
  return {
    async stop() {
      stopping.abort();
      await backups.stop();
    },
  };
}

async function runBackup(settings: Settings, version: string, signal: AbortSignal): Promise<Outcome> {
  const child = spawn(process.execPath, [MODULE], {
    stdio: ["pipe", "pipe", "inherit"],
    signal,
    killSignal: "SIGKILL",
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve());
  });
  // If the process ends early, its standard output contains the reason.
  child.stdin.on("error", () => {}).end(JSON.stringify({ settings, version }));
  const [output] = await Promise.all([text(child.stdout), ended]);
  let outcome: Outcome | { error: string; fix?: string };
  try {
    outcome = JSON.parse(output) as typeof outcome;
  } catch (err) {
    throw new Error(`the backup process ended without a result: ${messageOf(err)}`, { cause: err });
  }
  if ("error" in outcome) throw new Error([outcome.error, outcome.fix].filter(Boolean).join(". "));
  return outcome;
}
