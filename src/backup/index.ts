export { createBackup, type BackupProgress, type Created, type DataLocation } from "./create.ts";
export { generateIdentity } from "./encryption.ts";
export { openBackupFolder } from "./folder.ts";
export { readSecretsKey } from "./secrets-key.ts";
export { verifyBackup } from "./verify.ts";
