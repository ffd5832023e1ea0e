import { defineErrors } from "../kernel/index.ts";

export const migrateErrors = defineErrors("migrate", {
  stateUnreadable: {
    code: "E_STATE_UNREADABLE",
    http: 400,
    message: "Cannot read the state file {path}: {reason}.",
    fix: "Correct or delete the file, or select a different one with --state.",
  },
  otherImport: {
    code: "E_OTHER_IMPORT",
    http: 409,
    message: "The state file {path} belongs to a different import ({found}); this import is {wanted}.",
    fix: "Select a different file with --state.",
  },
  exportFinished: {
    code: "E_EXPORT_FINISHED",
    http: 409,
    message: "{path} already contains a complete export, created on {created}.",
    fix: "Select a different folder.",
  },
  exportFolderNotEmpty: {
    code: "E_FOLDER_NOT_EMPTY",
    http: 409,
    message: "{path} is not empty and does not contain an export.",
    fix: "Select a different folder.",
  },
  exportFolderUnusable: {
    code: "E_FOLDER_UNUSABLE",
    http: 400,
    message: "Cannot write to {path}: {reason}.",
    fix: "Select a different folder.",
  },
  otherExport: {
    code: "E_OTHER_EXPORT",
    http: 409,
    message: "{path} contains a different unfinished export ({found}); this export is {wanted}.",
    fix: "Select a different folder.",
  },
  noExport: {
    code: "E_NO_EXPORT",
    http: 404,
    message: "{path} does not contain an export: it has no export.json.",
    fix: "Pass the folder that `reelpost export` wrote.",
  },
  exportUnfinished: {
    code: "E_EXPORT_UNFINISHED",
    http: 409,
    message: "The export in {path} is not finished.",
    fix: "Run the same `reelpost export` command again to finish it.",
  },
  exportIncomplete: {
    code: "E_EXPORT_INCOMPLETE",
    http: 409,
    message: "The export in {path} is incomplete. Failed items: {names}.",
    fix: "Run the same `reelpost export` command again, or use --only to import only the other parts.",
  },
  manifestUnreadable: {
    code: "E_MANIFEST_UNREADABLE",
    http: 400,
    message: "Cannot read {path}: {reason}.",
    fix: "Restore the file, or export the account again into a different folder.",
  },
  parentMissing: {
    code: "E_PARENT_MISSING",
    http: 409,
    message: "{what} was not imported.",
    fix: "Fix the error reported above, then run the command again.",
  },
  downloadFailed: {
    code: "E_DOWNLOAD_FAILED",
    http: 502,
    message: "{what} returned status {status}: {text}",
    fix: "Run the command again.",
  },
  conversionFailed: {
    code: "E_CONVERSION_FAILED",
    http: 502,
    message: "The source failed to create {what}: {reason}.",
    fix: "Run the command again.",
  },
  uploadChanged: {
    code: "E_UPLOAD_CHANGED",
    http: 409,
    message: "The size of {what} changed from {before} to {after} bytes during the import.",
    fix: "Run the command again. The upload restarts.",
  },
  notReady: {
    code: "E_STILL_PROCESSING",
    http: 504,
    message: "{what} was not ready after {minutes} minutes.",
    fix: "Run the command again later. It resumes where it stopped.",
  },
  incomplete: {
    code: "E_INCOMPLETE",
    http: 502,
    message: "{what}: {reason}.",
    fix: "Run the command again.",
  },
});
