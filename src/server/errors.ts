import { defineErrors } from "../kernel/index.ts";

/** Errors of starting a server. */
export const serverErrors = defineErrors("start", {
  dataDirectoryBusy: {
    code: "data_directory_busy",
    http: 500,
    message: "Another Reelpost server (process {pid}) is using the data directory {directory}.",
    fix: "Stop it, or use another directory with `--data-dir`.",
  },
  localStorageBusy: {
    code: "local_storage_busy",
    http: 503,
    message: "The data directory {directory} is in use by process {pid}, which is not a development server.",
    fix: "Stop the process or wait until it has ended, or use another directory with `--data-dir`.",
  },
  dataDirectoryUnusable: {
    code: "data_directory_unusable",
    http: 500,
    message: "Cannot use the data directory {directory}: {reason}.",
    fix: "Use a folder that this user can write to, with `--data-dir` or REELPOST_DATA_DIR.",
  },
  openToOthers: {
    code: "open_to_others",
    http: 400,
    message: "Other machines can reach {host}, and {missing}.",
    fix: "{fix} Alternatively, listen on 127.0.0.1 only.",
  },
  otherKey: {
    code: "other_key",
    http: 500,
    message: "The secrets in this database were encrypted with a different key than the configured one.",
    fix: "Restore the key: secrets.key of the original data directory, or REELPOST_SECRETS_KEY. All processes that share a database must use the same key.",
  },
  otherObjects: {
    code: "other_objects",
    http: 500,
    message: "The object store (objects.url or objects.dir) does not belong to this database.",
    fix: "Use the bucket or folder that all processes of this database share, or restore it from the same backup as the database.",
  },
  objectsUnavailable: {
    code: "objects_unavailable",
    http: 503,
    message: "The object store does not respond: {reason}.",
    fix: "Check that this machine can reach the bucket in objects.url or the folder in objects.dir.",
  },
  restoreIncomplete: {
    code: "restore_incomplete",
    http: 500,
    message: "The restore into {directory} was interrupted, and its data is incomplete.",
    fix: "Run the same `reelpost backup restore` again, or delete the directory.",
  },
  objectsInBucket: {
    code: "objects_in_bucket",
    http: 400,
    message: "Only objects in a folder can be moved, but objects.url is {url}.",
    fix: "To change the database, create a backup and restore it with the new database.url.",
  },
  nothingToMove: {
    code: "nothing_to_move",
    http: 400,
    message: "No new location was specified.",
    fix: "Pass --database-url, and --objects-url or --objects-dir.",
  },
  movedAlready: {
    code: "moved_already",
    http: 400,
    message: "Only a server with SQLite can be moved, but database.url is set.",
    fix: "Run the command with the settings from before the move.",
  },
  noBackupFolder: {
    code: "no_backup_folder",
    http: 400,
    message: "No backup folder was specified.",
    fix: "Pass the folder as an argument, or set backup.dir.",
  },
  dashboardHostInUse: {
    code: "dashboard_host_in_use",
    http: 400,
    message: "The host name {host} is in both dashboard.hosts and {setting}.",
    fix: "Use another host name for the dashboard: workers must not share its origin.",
  },
  badProcesses: {
    code: "bad_processes",
    http: 400,
    message: "Invalid number of processes: {processes}.",
    fix: "Set --processes to auto or a number from 1 to 256.",
  },
  cannotBind: {
    code: "cannot_bind",
    http: 500,
    message: "Cannot listen on {host}, port {port}: {reason}.",
    fix: "Use a port that is free and an address of this machine. Port 0 selects a free port.",
  },
  unknownRole: { code: "unknown_role", http: 400, message: "Unknown role {role}.", fix: "Use one of: {roles}." },
  rolesApart: {
    code: "roles_apart",
    http: 400,
    message: "Running only the roles {roles} requires a shared database.",
    fix: "Set database.url to a PostgreSQL server, or run all roles in this process.",
  },
});
