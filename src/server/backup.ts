import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import {
  createBackup,
  restoreBackup,
  RESTORE_MARK,
  type BackupProgress,
  type CreatedBackup,
  type DataLocation,
  type RestoreResult,
} from "../backup/index.ts";
import type { Clock } from "../kernel/index.ts";
import { readSettings } from "../kernel/settings-read.ts";
import type { Settings, SettingsInput } from "../kernel/settings.ts";
import { lockDataDirectory, openDataDirectory } from "./data-lock.ts";
import { serverErrors } from "./errors.ts";
import { migrations } from "./migrations.ts";
import { SECRETS_KEY_NAME } from "./storage-identity.ts";

/** Where the settings of the server come from. */
export interface SettingsSource {
  cwd: string;
  env: Record<string, string | undefined>;
  settingsFile?: string;
  overrides?: SettingsInput;
}

export interface ServerBackupOptions {
  /** The absolute path of the backup folder. Default: backup.dir. */
  folder?: string | undefined;
  /** Default: backup.recipients. */
  recipients?: readonly string[] | undefined;
  /** Default: backup.keep; 0 keeps all. */
  keep?: number | undefined;
  /** Include the secrets key in an unencrypted backup. An encrypted backup always contains it. */
  withSecretsKey?: boolean;
  version: string;
  clock: Clock;
  onProgress?: (progress: BackupProgress) => void;
}

/** Reads the settings of a server as `reelpost serve` does. */
export async function readServerSettingsOf({ cwd, env, settingsFile, overrides }: SettingsSource): Promise<Settings> {
  const { settings } = await readSettings({
    cwd,
    env,
    ...(settingsFile !== undefined && { file: settingsFile }),
    ...(overrides !== undefined && { overrides }),
  });
  return settings;
}

/** Where a server with these settings stores its data. */
export function locationOf({ data_dir, objects, database }: Settings): DataLocation {
  return {
    dataDirectory: data_dir,
    objects: objects.url === "" ? resolve(data_dir, objects.dir) : objects.url,
    databaseUrl: database.url === "" ? undefined : database.url,
  };
}

/** Backs up the server that has these settings; it may be running. */
export async function backUpServer(settings: Settings, options: ServerBackupOptions): Promise<CreatedBackup> {
  const {
    folder = settings.backup.dir,
    keep = settings.backup.keep,
    recipients = settings.backup.recipients,
  } = options;
  if (folder === "") throw serverErrors.noBackupFolder();
  return createBackup({
    ...locationOf(settings),
    folder,
    recipients,
    secrets: settings.secrets,
    withSecretsKey: options.withSecretsKey === true,
    keep: keep === 0 ? undefined : keep,
    version: options.version,
    clock: options.clock,
    ...(options.onProgress !== undefined && { onProgress: options.onProgress }),
  });
}

export interface ServerRestoreOptions {
  folder: string;
  id?: string | undefined;
  identityFile?: string | undefined;
  /** A key file, instead of the configured one. */
  secretsKeyFile?: string | undefined;
  dryRun: boolean;
  onProgress?: (progress: { step: "files" | "rows"; files: number; bytes: number }) => void;
}

/** Restores a backup for a server with these settings; the server must not have any data. */
export async function restoreServer(settings: Settings, options: ServerRestoreOptions): Promise<RestoreResult> {
  const location = locationOf(settings);
  const lock =
    options.dryRun && !existsSync(location.dataDirectory) ? undefined : lockForRestore(location.dataDirectory);
  try {
    return await restoreBackup({
      ...location,
      ...options,
      secrets: settings.secrets,
      keyMark: { table: "server_marks", name: SECRETS_KEY_NAME },
      migrations,
    });
  } finally {
    lock?.release();
  }
}

function lockForRestore(directory: string) {
  openDataDirectory(directory);
  return lockDataDirectory(directory);
}

/** Throws restoreIncomplete if a restore into the directory was interrupted. */
export function checkRestored(directory: string): void {
  if (existsSync(join(directory, RESTORE_MARK))) throw serverErrors.restoreIncomplete({ directory });
}
