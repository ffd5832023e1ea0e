import type { Argument, Command, Option } from "./command.ts";
import { configOptions, localOptions, serverOptions } from "./shared-options.ts";

/** Documented once, at the top of the page. */
const SHARED: Record<string, Option> = { ...configOptions, ...serverOptions, ...localOptions };

const AREAS: readonly [title: string, heads: readonly string[]][] = [
  ["On this machine", ["init", "dev", "inbox", "import", "export", "types", "serve"]],
  [
    "Workers on a server",
    ["deploy", "versions", "deployments", "rollback", "tail", "workers", "cron", "delete", "secret"],
  ],
  ["Storage", ["kv", "r2", "d1", "secrets-store"]],
  ["Domains and mail", ["zone", "email", "doctor"]],
  ["Video", ["stream"]],
  ["Live video", ["live"]],
  ["Backups", ["backup", "check"]],
  ["Databases", ["migrate", "move"]],
  ["Servers and tokens", ["login", "logout", "whoami", "server", "cluster", "token"]],
  ["Dashboard", ["sign-in-link", "user", "sessions"]],
  ["Accounts", ["members", "audit"]],
];

const HEAD = `# Commands

This page is generated from the commands; \`reelpost <command> --help\` prints the same text. Arguments in \`<>\` are required, arguments in \`[]\` are optional.

Every command accepts \`--json\` (print the result or error as one JSON value on standard output), \`--no-color\`, \`--help\` and \`--version\`. The exit code is
0 on success, 1 on failure, and 2 for an invalid command line. Progress and prompts are written to standard error, and only on a terminal. Without a terminal,
commands that ask for confirmation fail unless \`--yes\` is given.

Options that many commands share:

`;

/** Generates docs/cli.md. */
export function referencePage(commands: readonly Command[]): string {
  const visibleCommands = commands.filter(({ hidden }) => hidden !== true);
  const knownHeads = new Set(AREAS.flatMap(([, heads]) => heads));
  const areas = [
    ...AREAS.map(
      ([title, heads]) => [title, visibleCommands.filter((command) => heads.includes(headOf(command)))] as const,
    ),
    ["Other commands", visibleCommands.filter((command) => !knownHeads.has(headOf(command)))] as const,
  ];
  const sections = areas
    .filter(([, commandsInArea]) => commandsInArea.length > 0)
    .flatMap(([title, commandsInArea]) => [`## ${title}`, ...commandsInArea.map(commandSection)]);
  return `${[HEAD + tableOf(Object.entries(SHARED).map(optionRow)), ...sections].join("\n\n")}\n`;
}

const headOf = ({ name }: Command) => name.split(" ")[0]!;

function commandSection(command: Command): string {
  const { name, summary, description, arguments: args = [], options, examples } = command;
  const ownOptions = Object.entries(options).filter(
    ([option, { hidden }]) => hidden !== true && !isShared(option, options[option]!),
  );
  const sharedOptions = Object.keys(options).filter((option) => isShared(option, options[option]!));
  const rows = [...args.map(argumentRow), ...ownOptions.map(optionRow)];
  return [
    `### \`reelpost ${name}\``,
    `\`${["reelpost", name, ...args.map(placeOf)].join(" ")}\`: ${summary}.`,
    ...(description === undefined
      ? []
      : [
          description
            .split("\n\n")
            .map((paragraph) => paragraph.replaceAll("\n", " "))
            .join("\n\n"),
        ]),
    ...(rows.length === 0 ? [] : [tableOf(rows)]),
    ...(sharedOptions.length === 0 ? [] : [`Also ${sharedOptions.map((option) => `\`--${option}\``).join(", ")}.`]),
    examples.map(([line, what]) => `- \`${line}\`: ${what}`).join("\n"),
  ].join("\n\n");
}

const isShared = (name: string, option: Option) => SHARED[name] === option;
const placeOf = ({ name, required }: Argument) => (required === true ? `<${name}>` : `[${name}]`);
const argumentRow = (argument: Argument): [string, string] => [
  `\`${placeOf(argument)}\``,
  `${argument.summary}${argument.choices === undefined ? "" : `: ${argument.choices.join(", ")}`}`,
];

function optionRow([name, { type, short, placeholder, summary, choices, multiple, defaultText }]: [string, Option]): [
  string,
  string,
] {
  const value = type === "boolean" ? "" : ` <${placeholder ?? type}>`;
  const notes = [
    choices === undefined ? "" : `${choices.length === 1 ? "only" : "one of"} ${choices.join(", ")}`,
    multiple === true ? "may be repeated" : "",
    defaultText === undefined ? "" : `default: ${defaultText}`,
  ].filter((note) => note !== "");
  return [
    `\`${short === undefined ? "" : `-${short}, `}--${name}${value}\``,
    `${summary}${notes.length === 0 ? "" : ` (${notes.join("; ")})`}`,
  ];
}

const tableOf = (rows: readonly (readonly [string, string])[]) =>
  [
    "| | |",
    "|---|---|",
    ...rows.map(
      ([left, right]) => `| ${left.replaceAll("|", "\\|")} | ${right.replaceAll("|", "\\|").replaceAll("<", "&lt;")} |`,
    ),
  ].join("\n");
