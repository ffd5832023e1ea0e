import { defineErrors } from "../kernel/index.ts";

/** A command line that cannot be understood. Each exits with EXIT.usage. */
export const usageErrors = defineErrors("usage", {
  unknownCommand: { code: "E_UNKNOWN_COMMAND", http: 400, message: 'There is no command "{name}".', fix: "{fix}" },
  unknownOption: { code: "E_UNKNOWN_OPTION", http: 400, message: "There is no option {option}{of}.", fix: "{fix}" },
  valueMissing: { code: "E_VALUE_MISSING", http: 400, message: "The option {option} needs a value.", fix: "Write {example}." },
  valueUnwanted: { code: "E_VALUE_UNWANTED", http: 400, message: "The option {option} takes no value.", fix: "Write {option} alone." },
  valueRepeated: { code: "E_VALUE_REPEATED", http: 400, message: "The option {option} is given more than once.", fix: "Keep one of them." },
  valueWrong: { code: "E_VALUE_WRONG", http: 400, message: '"{value}" is not a value for {name}.', fix: "{fix}" },
  argumentMissing: { code: "E_ARGUMENT_MISSING", http: 400, message: "The command needs <{name}>: {summary}.", fix: "Usage: {usage}" },
  argumentUnwanted: { code: "E_ARGUMENT_UNWANTED", http: 400, message: '"{value}" is one argument too many.', fix: "Usage: {usage}" },
});

/** What a command can say of its own work. */
export const commandErrors = defineErrors("cli", {
  folderNotEmpty: { code: "E_FOLDER_NOT_EMPTY", http: 409, message: "{folder} has files of these names already: {names}. Nothing was written.", fix: "Choose another folder: reelpost init <dir>" },
  folderUnusable: { code: "E_FOLDER_UNUSABLE", http: 400, message: "{folder} cannot be used: {reason}", fix: "Choose another folder: reelpost init <dir>" },
  typesOutdated: { code: "E_TYPES_OUTDATED", http: 409, message: "{file} is not what the configuration says.", fix: "Run `reelpost types` and commit the file." },
});
