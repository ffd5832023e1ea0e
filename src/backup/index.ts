export { createBackup, type BackupProgress, type Created, type DataLocation } from "./create.ts";
export { generateIdentity } from "./encryption.ts";
export { openBackupFolder } from "./folder.ts";
export type { Manifest } from "./manifest.ts";
export { restoreBackup, RESTORE_MARK, type Restored } from "./restore.ts";
export { scheduleBackups, type BackupSchedule } from "./schedule.ts";
export { verifyBackup, type Verified } from "./verify.ts";
export { checkData } from "./check/check.ts";
export { explain } from "./check/finding.ts";
