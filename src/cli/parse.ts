import { parseArgs } from "node:util";
import { nearestName } from "../kernel/config/index.ts";
import type { UserError } from "../kernel/index.ts";
import { COMMON_OPTIONS, type Command, type Option, type Options } from "./command.ts";
import { usageErrors } from "./errors.ts";
import { usageLine } from "./help.ts";

interface Parsed {
  /** undefined: no command was given, or only the first words of one ("secret" of "secret put"). */
  command: Command | undefined;
  /** The words of the command name. */
  words: string[];
  values: Record<string, unknown>;
  args: string[];
  /** All errors in the command line. */
  errors: UserError[];
}

/** Parses a command line according to the registry. `argv` excludes the program name. */
export function parseCommandLine(argv: readonly string[], commands: readonly Command[]): Parsed {
  const { tokens } = parseArgs({
    args: [...argv],
    options: parserOptionsOf(allOptions(commands)),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const positionals = tokens.filter((token) => token.kind === "positional").map(({ value }) => value);
  const { command, words } = chooseCommand(positionals, commands);
  const args = positionals.slice(words.length);
  if (command === undefined) {
    const asksForNone = args.length === 0 || wantsOption(tokens, "help") || wantsOption(tokens, "version");
    const errors = asksForNone ? [] : [noSuchCommand([...words, args[0]!], commands)];
    return { command, words, values: readOptions(tokens, COMMON_OPTIONS, words).values, args, errors };
  }
  const options: Options = { ...COMMON_OPTIONS, ...command.options };
  const { values, errors } = readOptions(tokens, options, words);
  // The word after an unknown option may be its value, so the arguments cannot be counted.
  const countsAsUsageError = errors.every(({ kind }) => kind !== "unknownOption");
  return {
    command,
    words,
    values,
    args,
    errors: countsAsUsageError ? [...errors, ...checkArguments(command, args)] : errors,
  };
}

/** Returns the longest sequence of leading words that is a command name or the beginning of one. */
function chooseCommand(
  positionals: readonly string[],
  commands: readonly Command[],
): { command: Command | undefined; words: string[] } {
  let words: string[] = [];
  for (let count = 1; count <= positionals.length; count++) {
    const name = positionals.slice(0, count).join(" ");
    if (!commands.some((command) => command.name === name || command.name.startsWith(`${name} `))) break;
    words = positionals.slice(0, count);
  }
  return { command: commands.find(({ name }) => name === words.join(" ")), words };
}

function noSuchCommand(words: readonly string[], commands: readonly Command[]): UserError {
  const name = words.join(" ");
  const names = commands.filter(({ hidden }) => hidden !== true).map((command) => command.name);
  const suggestion = nearestName(name, names);
  if (suggestion !== undefined) return usageErrors.unknownCommand({ name, fix: `Did you mean \`${suggestion}\`?` });
  // Suggests the commands of the group, or the first words of all commands.
  const group = words.slice(0, -1).join(" ");
  const groupNames = group === "" ? names : names.filter((candidate) => candidate.startsWith(`${group} `));
  const heads = new Set(groupNames.map((candidate) => (group === "" ? candidate.split(" ")[0]! : candidate)));
  return usageErrors.unknownCommand({
    name,
    fix: `Commands: ${[...heads].join(", ")}. Run \`${["reelpost", ...words.slice(0, -1), "--help"].join(" ")}\`.`,
  });
}

/** Union of every command's options: parseArgs must know which of them take a value before the command is known. */
function allOptions(commands: readonly Command[]): Options {
  return Object.assign({}, ...commands.map(({ options }) => options), COMMON_OPTIONS) as Options;
}

/** Options in parseArgs format, which treats numbers as strings. */
function parserOptionsOf(options: Options): NonNullable<Parameters<typeof parseArgs>[0]>["options"] {
  return Object.fromEntries(
    Object.entries(options).map(([name, { type, short, multiple = false }]) => {
      const kind: "boolean" | "string" = type === "boolean" ? "boolean" : "string";
      return [name, { type: kind, multiple, ...(short !== undefined && { short }) }];
    }),
  );
}

type Token = NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number];
const wantsOption = (tokens: readonly Token[], name: string) =>
  tokens.some((token) => token.kind === "option" && token.name === name);

function readOptions(
  tokens: readonly Token[],
  options: Options,
  words: readonly string[],
): { values: Record<string, unknown>; errors: UserError[] } {
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(options).map(([name, { multiple }]) => [name, multiple === true ? [] : undefined]),
  );
  const errors: UserError[] = [];
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName: option, value } = token;
    const knownOption = options[name];
    if (knownOption === undefined || (!option.startsWith("--") && knownOption.short !== option.slice(1))) {
      errors.push(unknownOption(option, options, words));
      continue;
    }
    const parsedValue = readValue(knownOption, name, option, value, token.inlineValue === true);
    if ("error" in parsedValue) errors.push(parsedValue.error);
    else if (knownOption.multiple === true) (values[name] as unknown[]).push(parsedValue.value);
    else if (values[name] !== undefined && knownOption.type !== "boolean")
      errors.push(usageErrors.valueRepeated({ option }));
    else values[name] = parsedValue.value;
  }
  return { values, errors };
}

function unknownOption(option: string, options: Options, words: readonly string[]): UserError {
  const visibleOptions = Object.entries(options).flatMap(([name, { hidden }]) => (hidden === true ? [] : [name]));
  const suggestion = nearestName(option.replace(/^-+/, ""), visibleOptions);
  const of = words.length === 0 ? "" : ` of \`reelpost ${words.join(" ")}\``;
  const help = ["reelpost", ...words, "--help"].join(" ");
  return usageErrors.unknownOption({
    option,
    of,
    fix: suggestion === undefined ? `Run \`${help}\` for the list.` : `Did you mean --${suggestion}?`,
  });
}

function readValue(
  knownOption: Option,
  name: string,
  option: string,
  value: string | undefined,
  inline: boolean,
): { value: unknown } | { error: UserError } {
  if (knownOption.type === "boolean")
    return value === undefined ? { value: true } : { error: usageErrors.valueUnwanted({ option }) };
  const example = `--${name} ${knownOption.choices?.[0] ?? `<${knownOption.placeholder ?? knownOption.type}>`}`;
  // parseArgs accepts any next word: in `--config --port 1` the next option is not a value.
  if (value === undefined || value === "" || (!inline && /^-./.test(value)))
    return { error: usageErrors.valueMissing({ option, example }) };
  const wrong = (fix: string) => ({ error: usageErrors.valueWrong({ value, name: `--${name}`, fix }) });
  if (knownOption.choices !== undefined && !knownOption.choices.includes(value))
    return wrong(choiceFix(value, knownOption.choices));
  if (knownOption.type === "string") return { value };
  const number = Number(value);
  const [min, max] = [knownOption.min ?? 0, knownOption.max ?? Number.MAX_SAFE_INTEGER];
  if (/^\d+$/.test(value) && number >= min && number <= max) return { value: number };
  return wrong(`Use a whole number from ${min}${knownOption.max === undefined ? "" : ` to ${max}`}.`);
}

function choiceFix(value: string, choices: readonly string[]): string {
  const suggestion = nearestName(value, choices);
  return `${suggestion === undefined ? "" : `Did you mean "${suggestion}"? `}Choose one of ${choices.join(", ")}.`;
}

function checkArguments(command: Command, args: readonly string[]): UserError[] {
  const declaredArguments = command.arguments ?? [];
  const usage = usageLine(command);
  const missingArguments = declaredArguments
    .slice(args.length)
    .filter(({ required }) => required === true)
    .map(({ name, summary }) => usageErrors.argumentMissing({ name, summary, usage }));
  const unexpectedArguments = args
    .slice(declaredArguments.length, declaredArguments.length + 1)
    .map((value) => usageErrors.argumentUnwanted({ value, usage }));
  const wrong = declaredArguments.flatMap(({ name, choices }, i) => {
    const value = args[i];
    return value === undefined || choices === undefined || choices.includes(value)
      ? []
      : [usageErrors.valueWrong({ value, name: `<${name}>`, fix: choiceFix(value, choices) })];
  });
  return [...missingArguments, ...unexpectedArguments, ...wrong];
}
