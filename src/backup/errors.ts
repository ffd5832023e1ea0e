import { defineErrors } from "../kernel/index.ts";

/** Errors of backups and of checks of the stored data. */
export const backupErrors = defineErrors("backup", {
  badSchedule: {
    code: "E_BACKUP_BAD_SCHEDULE",
    http: 400,
    message: "invalid backup.schedule {schedule}: {reason}",
    fix: 'Use a cron expression with five fields in UTC, such as "15 3 * * *".',
  },
  noFolder: {
    code: "E_BACKUP_NO_FOLDER",
    http: 404,
    message: "{folder} is not a backup folder",
    fix: "Specify a folder that `reelpost backup create` created.",
  },
  folderInUse: {
    code: "E_BACKUP_FOLDER_IN_USE",
    http: 409,
    message: "another process is using the backup folder {folder}",
    fix: "Wait until it ends.",
  },
  foreignFolder: {
    code: "E_BACKUP_FOREIGN_FOLDER",
    http: 409,
    message: "{folder} contains other files and is not a backup folder",
    fix: "Use an empty folder, or one that `reelpost backup create` created.",
  },
  durableObjectsStay: {
    code: "E_BACKUP_DURABLE_OBJECTS_STAY",
    http: 409,
    message: "the server has {count} Durable Objects, which PostgreSQL does not support",
    fix: "Delete them, or keep SQLite and move only R2 objects and video files: omit --database-url.",
  },
  moveDiffers: {
    code: "E_BACKUP_MOVE_DIFFERS",
    http: 500,
    message: "the data in the new location differs: {what}",
    fix: "Use an empty database and an empty object store, and run `reelpost move` again.",
  },
  insideData: {
    code: "E_BACKUP_INSIDE_DATA",
    http: 400,
    message: "the backup folder {folder} is inside the data that it would back up",
    fix: "Use a folder outside {data}, on another disk if possible.",
  },
  newerFormat: {
    code: "E_BACKUP_NEWER_FORMAT",
    http: 409,
    message: "the backup {what} has format {format}, which this version does not support",
    fix: "Use the version of Reelpost that created it, or a newer one.",
  },
  full: {
    code: "E_BACKUP_FULL",
    http: 507,
    message: "no space left to write {path}",
    fix: "Free up disk space and run the command again. It resumes where it stopped.",
  },
  tooLittleSpace: {
    code: "E_BACKUP_TOO_LITTLE_SPACE",
    http: 507,
    message: "the backup {id} requires {needed} in {directory}, but only {free} is free",
    fix: "Free up disk space, or select a data directory on another disk with --data-dir.",
  },
  notWritable: {
    code: "E_BACKUP_NOT_WRITABLE",
    http: 500,
    message: "cannot write {path}: {reason}",
    fix: "Check the owner and mode of the folder, and make sure that its disk is not mounted read-only.",
  },
  notReadable: {
    code: "E_BACKUP_NOT_READABLE",
    http: 500,
    message: "cannot read {path}: {reason}",
    fix: "Run the command as the user that owns the files.",
  },
  noData: {
    code: "E_BACKUP_NO_DATA",
    http: 404,
    message: "{directory} does not contain server data: {file} is missing",
    fix: "Select the data directory with --data-dir or --settings.",
  },
  badRecipient: {
    code: "E_BACKUP_BAD_RECIPIENT",
    http: 400,
    message: "{recipient} is not an age recipient: {reason}",
    fix: "Use a public key that begins with age1, from `age-keygen` or `reelpost backup keygen`.",
  },
  badIdentity: {
    code: "E_BACKUP_BAD_IDENTITY",
    http: 400,
    message: "{file} contains no age identity: {reason}",
    fix: "Use a file from `age-keygen` or `reelpost backup keygen`. It has a line that begins with AGE-SECRET-KEY-.",
  },
  identityNeeded: {
    code: "E_BACKUP_IDENTITY_NEEDED",
    http: 400,
    message: "the backup {id} is encrypted",
    fix: "Pass the identity file of one of its recipients with --identity.",
  },
  wrongIdentity: {
    code: "E_BACKUP_WRONG_IDENTITY",
    http: 400,
    message: "the backup {id} was not encrypted for this identity",
    fix: "Use the identity of one of these recipients: {recipients}.",
  },
  noBackup: {
    code: "E_BACKUP_NO_BACKUP",
    http: 404,
    message: "{folder} contains no complete backup",
    fix: "Run `reelpost backup create {folder}`.",
  },
  unknownBackup: {
    code: "E_BACKUP_UNKNOWN",
    http: 404,
    message: "{folder} contains no complete backup {id}",
    fix: "Use one of: {ids}.",
  },
  damaged: {
    code: "E_BACKUP_DAMAGED",
    http: 500,
    message: "the backup {id} is damaged: {reason}",
    fix: "Use another backup. `reelpost backup verify` lists all damaged files.",
  },
  keyNeeded: {
    code: "E_BACKUP_KEY_NEEDED",
    http: 400,
    message: "the backup {id} does not contain the key that encrypts secrets",
    fix: "Pass secrets.key from the original data directory with --secrets-key, or set secrets.key or secrets.key_file.",
  },
  wrongKey: {
    code: "E_BACKUP_WRONG_KEY",
    http: 400,
    message: "the secrets in the backup {id} were encrypted with a different key than the one from {source}",
    fix: "Use the file secrets.key from the data directory that was backed up.",
  },
  bucketNeeded: {
    code: "E_BACKUP_BUCKET_NEEDED",
    http: 400,
    message: "the backup {id} does not contain the objects, which were in the bucket {url}",
    fix: "Set objects.url to this bucket, or to a copy of it.",
  },
  folderNeeded: {
    code: "E_BACKUP_FOLDER_NEEDED",
    http: 400,
    message:
      "the backup {id} contains objects that were stored in a folder and cannot be restored into the bucket {url}",
    fix: "Restore it without objects.url. Then move the objects: `reelpost move --objects-url {url}`.",
  },
  targetNotEmpty: {
    code: "E_BACKUP_TARGET_NOT_EMPTY",
    http: 409,
    message: "cannot restore into {directory}: it contains {name}",
    fix: "With --data-dir, select an empty directory or one that does not exist. Existing data is never overwritten.",
  },
  restoreFailed: {
    code: "E_BACKUP_RESTORE_FAILED",
    http: 500,
    message: "the restore into {directory} is incomplete: {reason}",
    fix: "Fix the cause and run the same command again. The server does not start until the restore is complete.",
  },
});
