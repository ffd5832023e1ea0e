import { resolve } from "node:path";
import { createBackup, readSecretsKey, type BackupProgress, type Created, type DataLocation } from "../backup/index.ts";
import type { Clock } from "../kernel/index.ts";
import { readSettings } from "../kernel/settings-read.ts";
import type { Settings, SettingsInput } from "../kernel/settings.ts";
import { serverErrors } from "./errors.ts";

/** Where the settings of the server come from. */
interface SettingsSource {
  cwd: string;
  env: Record<string, string | undefined>;
  settingsFile?: string;
  overrides?: SettingsInput;
}

interface ServerBackupOptions {
  /** The absolute path of the backup folder. Default: backup.dir. */
  folder?: string | undefined;
  /** Default: backup.recipients. */
  recipients?: readonly string[] | undefined;
  /** Default: backup.keep; 0 keeps all. */
  keep?: number | undefined;
  /** Store the key of the secrets in a backup that is not encrypted. An encrypted one always contains it. */
  withSecretsKey?: boolean;
  version: string;
  clock: Clock;
  onProgress?: (progress: BackupProgress) => void;
}

/** Reads the settings of a server as `reelpost serve` does. */
export async function settingsOf({ cwd, env, settingsFile, overrides }: SettingsSource): Promise<Settings> {
  const { settings } = await readSettings({
    cwd,
    env,
    ...(settingsFile !== undefined && { file: settingsFile }),
    ...(overrides !== undefined && { overrides }),
  });
  return settings;
}

const locationOf = ({ data_dir, objects, database }: Settings): DataLocation => ({
  dataDirectory: data_dir,
  objects: resolve(data_dir, objects.dir),
  databaseUrl: database.url === "" ? undefined : database.url,
});

/** Backs up the server with these settings, which may be running. */
export async function backUpServer(settings: Settings, options: ServerBackupOptions): Promise<Created> {
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
    secretsKey: readSecretsKey(settings.data_dir, settings.secrets),
    withSecretsKey: options.withSecretsKey === true,
    keep: keep === 0 ? undefined : keep,
    version: options.version,
    clock: options.clock,
    ...(options.onProgress !== undefined && { onProgress: options.onProgress }),
  });
}
