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
  parentMissing: {
    code: "E_PARENT_MISSING",
    http: 409,
    message: "{what} was not imported.",
    fix: "Correct its error, then run the command again.",
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
