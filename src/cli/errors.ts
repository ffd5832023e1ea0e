import { defineErrors } from "../kernel/index.ts";

/** A command line that cannot be understood. Each exits with EXIT.usage. */
export const usageErrors = defineErrors("usage", {
  unknownCommand: { code: "E_UNKNOWN_COMMAND", http: 400, message: 'There is no command "{name}".', fix: "{fix}" },
  unknownOption: { code: "E_UNKNOWN_OPTION", http: 400, message: "There is no option {option}{of}.", fix: "{fix}" },
  valueMissing: {
    code: "E_VALUE_MISSING",
    http: 400,
    message: "The option {option} needs a value.",
    fix: "Write {example}.",
  },
  valueUnwanted: {
    code: "E_VALUE_UNWANTED",
    http: 400,
    message: "The option {option} takes no value.",
    fix: "Write {option} alone.",
  },
  valueRepeated: {
    code: "E_VALUE_REPEATED",
    http: 400,
    message: "The option {option} is given more than once.",
    fix: "Keep one of them.",
  },
  valueWrong: { code: "E_VALUE_WRONG", http: 400, message: '"{value}" is not a value for {name}.', fix: "{fix}" },
  argumentMissing: {
    code: "E_ARGUMENT_MISSING",
    http: 400,
    message: "The command needs <{name}>: {summary}.",
    fix: "Usage: {usage}",
  },
  argumentUnwanted: {
    code: "E_ARGUMENT_UNWANTED",
    http: 400,
    message: '"{value}" is one argument too many.',
    fix: "Usage: {usage}",
  },
});

/** What a command can say of its own work. */
export const commandErrors = defineErrors("cli", {
  folderNotEmpty: {
    code: "E_FOLDER_NOT_EMPTY",
    http: 409,
    message: "{folder} has files of these names already: {names}. Nothing was written.",
    fix: "Choose another folder: reelpost init <dir>",
  },
  folderUnusable: {
    code: "E_FOLDER_UNUSABLE",
    http: 400,
    message: "{folder} cannot be used: {reason}",
    fix: "Choose another folder: reelpost init <dir>",
  },
  workerUnnamed: {
    code: "E_WORKER_UNNAMED",
    http: 400,
    message: "Which worker? There is no configuration with a name in this folder or above it.",
    fix: "Name it: --name <name>, or --config <file>.",
  },
  secretsMissing: {
    code: "E_SECRETS_MISSING",
    http: 400,
    message: "{name} requires secrets that the server has no value for: {missing}.",
    fix: "Set each first: reelpost secret put {first}",
  },
  tailLost: {
    code: "E_TAIL_LOST",
    http: 503,
    message: "The connection to the tail is lost: {reason}. Five tries did not bring it back.",
    fix: "Look whether the server runs, then start again.",
  },
  neverDeployed: {
    code: "E_NEVER_DEPLOYED",
    http: 404,
    message: "{name} was never deployed.",
    fix: "Run `reelpost deploy` first.",
  },
  nothingBefore: {
    code: "E_NOTHING_BEFORE",
    http: 404,
    message: "{name} has no version that was live before this one.",
    fix: "Name a version: `reelpost versions list` shows them.",
  },
  accountUnknown: {
    code: "E_ACCOUNT_UNKNOWN",
    http: 400,
    message: "The API token does not reach the account {id}.",
    fix: "It reaches: {list}",
  },
  storageUnnamed: {
    code: "E_STORAGE_UNNAMED",
    http: 400,
    message: "Which {what}?",
    fix: "Say it with {options}. Bindings of the configuration: {names}.",
  },
  bindingUnknown: {
    code: "E_BINDING_UNKNOWN",
    http: 400,
    message: "The configuration binds no {what} as {binding}.",
    fix: "Bindings of the configuration: {names}.",
  },
  bindingWithoutId: {
    code: "E_BINDING_WITHOUT_ID",
    http: 400,
    message: 'The binding {binding} has no "{field}" in the configuration.',
    fix: "Create one with `{command}`, and write its id there.",
  },
  zoneUnknown: {
    code: "E_ZONE_UNKNOWN",
    http: 404,
    message: "The account has no zone for {domain}.",
    fix: "`reelpost zone list` shows those there are, `reelpost zone create {domain}` adds it.",
  },
  sendingUnknown: {
    code: "E_SENDING_UNKNOWN",
    http: 404,
    message: "No mail is sent from {domain}.",
    fix: "`reelpost email sending enable {domain}` lets it.",
  },
  messageUnknown: {
    code: "E_MESSAGE_UNKNOWN",
    http: 404,
    message: "None of the newest {count} entries of the log has an id that begins with {id}.",
    fix: "`reelpost email log --json` shows whole ids; those find older ones too.",
  },
  messageAmbiguous: {
    code: "E_MESSAGE_AMBIGUOUS",
    http: 400,
    message: "The ids of several messages begin with {id}.",
    fix: "Say more of it.",
  },
  databaseUnknown: {
    code: "E_DATABASE_UNKNOWN",
    http: 404,
    message: "There is no D1 database {name}.",
    fix: "`reelpost d1 list` shows those there are, `reelpost d1 create {name}` makes it.",
  },
  databaseUnbound: {
    code: "E_DATABASE_UNBOUND",
    http: 400,
    message: "The configuration has no D1 database {name}: where its migrations lie is not known.",
    fix: "Bind it under d1_databases.",
  },
  databaseWorkFailed: {
    code: "E_DATABASE_WORK_FAILED",
    http: 500,
    message: "The server could not do it: {reason}",
    fix: "Correct the SQL, then try again.",
  },
  migrationFailed: {
    code: "E_MIGRATION_FAILED",
    http: 400,
    message: "{file} failed, and changed nothing: {reason}",
    fix: "Correct the file and run `d1 migrations apply` again. Before it, {done} ran and stay.",
  },
  notConfirmed: {
    code: "E_NOT_CONFIRMED",
    http: 400,
    message: "{question} Nobody is there to answer.",
    fix: "Say --yes.",
  },
  declined: { code: "E_DECLINED", http: 400, message: "Stopped. Nothing was changed." },
  inputTooLong: {
    code: "E_INPUT_TOO_LONG",
    http: 413,
    message: "{what} is longer than {limit}.",
    fix: "Send it in parts.",
  },
  fileUnreadable: {
    code: "E_FILE_UNREADABLE",
    http: 400,
    message: "{file} cannot be read: {reason}.",
    fix: "Name a file that is there.",
  },
  fileUnwritable: {
    code: "E_FILE_UNWRITABLE",
    http: 400,
    message: "{file} cannot be written: {reason}.",
    fix: "Name another file.",
  },
  badJson: { code: "E_BAD_JSON", http: 400, message: "{file} is not JSON: {reason}", fix: "Correct it." },
  badContent: { code: "E_BAD_CONTENT", http: 400, message: "{what}: {reason}.", fix: "{fix}" },
  typesOutdated: {
    code: "E_TYPES_OUTDATED",
    http: 409,
    message: "{file} is not what the configuration says.",
    fix: "Run `reelpost types` and commit the file.",
  },
});
