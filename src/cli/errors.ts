import { defineErrors } from "../kernel/index.ts";

/** Errors of the command line. Each exits with EXIT.usage. */
export const usageErrors = defineErrors("usage", {
  unknownCommand: { code: "E_UNKNOWN_COMMAND", http: 400, message: 'Unknown command "{name}".', fix: "{fix}" },
  unknownOption: { code: "E_UNKNOWN_OPTION", http: 400, message: "Unknown option {option}{of}.", fix: "{fix}" },
  valueMissing: {
    code: "E_VALUE_MISSING",
    http: 400,
    message: "The option {option} needs a value.",
    fix: "Use {example}.",
  },
  valueUnwanted: {
    code: "E_VALUE_UNWANTED",
    http: 400,
    message: "The option {option} does not take a value.",
    fix: "Use {option} without a value.",
  },
  valueRepeated: {
    code: "E_VALUE_REPEATED",
    http: 400,
    message: "The option {option} is given more than once.",
    fix: "Remove the duplicates.",
  },
  valueWrong: { code: "E_VALUE_WRONG", http: 400, message: 'Invalid value "{value}" for {name}.', fix: "{fix}" },
  argumentMissing: {
    code: "E_ARGUMENT_MISSING",
    http: 400,
    message: "Missing argument <{name}>: {summary}.",
    fix: "Usage: {usage}",
  },
  argumentUnwanted: {
    code: "E_ARGUMENT_UNWANTED",
    http: 400,
    message: 'Unexpected argument "{value}".',
    fix: "Usage: {usage}",
  },
});

/** Errors that commands cause themselves. */
export const commandErrors = defineErrors("cli", {
  folderNotEmpty: {
    code: "E_FOLDER_NOT_EMPTY",
    http: 409,
    message: "{folder} already has files with these names: {names}. Nothing was written.",
    fix: "Choose another folder: reelpost init <dir>",
  },
  folderUnusable: {
    code: "E_FOLDER_UNUSABLE",
    http: 400,
    message: "Cannot use {folder}: {reason}",
    fix: "Choose another folder: reelpost init <dir>",
  },
  workerUnnamed: {
    code: "E_WORKER_UNNAMED",
    http: 400,
    message: "Cannot determine the worker: found no configuration with a `name` in this folder or any parent folder.",
    fix: "Select it with --name <name> or --config <file>.",
  },
  secretsMissing: {
    code: "E_SECRETS_MISSING",
    http: 400,
    message: "{name} requires secrets that are not set on the server: {missing}.",
    fix: "Set them first: reelpost secret put {first}",
  },
  queueMissing: {
    code: "E_QUEUE_MISSING",
    http: 404,
    message: "The queue {queue} does not exist on the server.",
    fix: "Run `reelpost queues create {queue}`.",
  },
  tailLost: {
    code: "E_TAIL_LOST",
    http: 503,
    message: "Lost the connection to the tail: {reason}. Five attempts to reconnect failed.",
    fix: "Check that the server is running, then start the tail again.",
  },
  neverDeployed: {
    code: "E_NEVER_DEPLOYED",
    http: 404,
    message: "{name} has no deployment.",
    fix: "Run `reelpost deploy` first.",
  },
  nothingBefore: {
    code: "E_NOTHING_BEFORE",
    http: 404,
    message: "{name} has no earlier deployed version.",
    fix: "Pass a version: `reelpost versions list` shows them.",
  },
  accountUnknown: {
    code: "E_ACCOUNT_UNKNOWN",
    http: 400,
    message: "The API token has no access to the account {id}.",
    fix: "Accessible accounts: {list}",
  },
  storageUnnamed: {
    code: "E_STORAGE_UNNAMED",
    http: 400,
    message: "No {what} specified.",
    fix: "Pass it with {options}. Bindings in the configuration: {names}.",
  },
  bindingUnknown: {
    code: "E_BINDING_UNKNOWN",
    http: 400,
    message: "The configuration has no {what} binding {binding}.",
    fix: "Bindings in the configuration: {names}.",
  },
  bindingWithoutId: {
    code: "E_BINDING_WITHOUT_ID",
    http: 400,
    message: 'The binding {binding} has no "{field}" in the configuration.',
    fix: "Create it with `{command}`, and add its id to the configuration.",
  },
  zoneUnknown: {
    code: "E_ZONE_UNKNOWN",
    http: 404,
    message: "The account has no zone for {domain}.",
    fix: "List zones with `reelpost zone list`, or create one with `reelpost zone create {domain}`.",
  },
  sendingUnknown: {
    code: "E_SENDING_UNKNOWN",
    http: 404,
    message: "Email Sending is not enabled for {domain}.",
    fix: "Run `reelpost email sending enable {domain}` first.",
  },
  messageUnknown: {
    code: "E_MESSAGE_UNKNOWN",
    http: 404,
    message: "No id among the newest {count} log entries begins with {id}.",
    fix: "Use the full id to find older messages (`reelpost email log --json` prints it).",
  },
  messageAmbiguous: {
    code: "E_MESSAGE_AMBIGUOUS",
    http: 400,
    message: "The id prefix {id} is ambiguous.",
    fix: "Use a longer prefix.",
  },
  databaseUnknown: {
    code: "E_DATABASE_UNKNOWN",
    http: 404,
    message: "There is no D1 database {name}.",
    fix: "List databases with `reelpost d1 list`, or create one with `reelpost d1 create {name}`.",
  },
  databaseNotLocal: {
    code: "E_DATABASE_NOT_LOCAL",
    http: 404,
    message: "The configuration has no D1 database {name}.",
    fix: "Add it to d1_databases, or pass one of the bindings in the configuration: {names}.",
  },
  localOptionAlone: {
    code: "E_LOCAL_OPTION_ALONE",
    http: 400,
    message: "The option --data-dir selects the storage of `reelpost dev`, but the command concerns a server.",
    fix: "Add --local, or remove --data-dir.",
  },
  localWithServer: {
    code: "E_LOCAL_WITH_SERVER",
    http: 400,
    message: "The options --local and {option} contradict each other.",
    fix: "Remove one of them.",
  },
  databaseUnbound: {
    code: "E_DATABASE_UNBOUND",
    http: 400,
    message: "The configuration has no D1 database {name}, so its migrations folder is unknown.",
    fix: "Add it to d1_databases.",
  },
  databaseWorkFailed: {
    code: "E_DATABASE_WORK_FAILED",
    http: 500,
    message: "The server reported an error: {reason}",
    fix: "Fix the SQL, then retry.",
  },
  migrationFailed: {
    code: "E_MIGRATION_FAILED",
    http: 400,
    message: "{file} failed and was rolled back: {reason}",
    fix: "Fix the file and run `d1 migrations apply` again. {done} were applied before it.",
  },
  notConfirmed: {
    code: "E_NOT_CONFIRMED",
    http: 400,
    message: "{question} Cannot prompt: stdin is not a terminal.",
    fix: "Pass --yes to confirm.",
  },
  declined: { code: "E_DECLINED", http: 400, message: "Cancelled. Nothing was changed." },
  inputTooLong: {
    code: "E_INPUT_TOO_LONG",
    http: 413,
    message: "{what} exceeds {limit}.",
    fix: "Split it into several requests.",
  },
  fileUnreadable: {
    code: "E_FILE_UNREADABLE",
    http: 400,
    message: "Cannot read {file}: {reason}.",
    fix: "Pass an existing file.",
  },
  fileUnwritable: {
    code: "E_FILE_UNWRITABLE",
    http: 400,
    message: "Cannot write {file}: {reason}.",
    fix: "Use another file.",
  },
  badJson: { code: "E_BAD_JSON", http: 400, message: "{file} is not valid JSON: {reason}", fix: "Fix the file." },
  badContent: { code: "E_BAD_CONTENT", http: 400, message: "{what}: {reason}.", fix: "{fix}" },
  typesOutdated: {
    code: "E_TYPES_OUTDATED",
    http: 409,
    message: "{file} does not match the configuration.",
    fix: "Run `reelpost types` and commit the file.",
  },
});
