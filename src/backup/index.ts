export { createBackup, type BackupProgress, type Created, type DataLocation } from "./create.ts";
export { generateIdentity } from "./encryption.ts";
export { openBackupFolder } from "./folder.ts";
export type { Manifest } from "./manifest.ts";
export { restoreBackup, RESTORE_MARK, type Restored } from "./restore.ts";
export { cronProblem, scheduleBackups, type BackupSchedule } from "./schedule.ts";
export { readKeyFile, readSecretsKey } from "./secrets-key.ts";
export { verifyBackup, type Verified } from "./verify.ts";
