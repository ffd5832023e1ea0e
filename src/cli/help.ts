import { painter } from "../kernel/paint.ts";
import { COMMON_OPTIONS, type Argument, type Command, type Option, type Options, type Output } from "./command.ts";
import type { Noun } from "./registry.ts";

type Screen = Pick<Output, "width" | "colour">;

/**
 * Returns the page of `reelpost --help`: one line for each noun, such as `kv …  KV namespaces and their keys:
 * namespace, key, bulk`.
 */
export function firstPage(nouns: readonly Noun[], screen: Screen): string {
  const rows = nouns.map(({ name, summary, verbs }): [string, string] =>
    verbs === undefined ? [name, summary] : [`${name} …`, `${summary}: ${verbs.join(", ")}`],
  );
  return commandPage("Self-hosted, programmable email and streaming video", "", rows, screen);
}

/** Returns the page of a group: `reelpost secret --help` lists the commands that start with "secret". */
export function groupHelp(
  words: readonly string[],
  commands: readonly Command[],
  screen: Screen,
  nouns: readonly Noun[],
): string {
  const prefix = `${words.join(" ")} `;
  const shown = commands.filter(({ name, hidden }) => hidden !== true && name.startsWith(prefix));
  const groupSummary = nouns.find(({ name }) => name === words.join(" "))?.summary;
  const rows = shown.map(({ name, summary }): [string, string] => [name, summary]);
  return commandPage(groupSummary, prefix, rows, screen);
}

function commandPage(
  groupSummary: string | undefined,
  prefix: string,
  rows: readonly (readonly [name: string, summary: string])[],
  screen: Screen,
): string {
  const sections = [
    ...(groupSummary === undefined ? [] : [upperFirst(`${groupSummary}.`)]),
    section("Usage", [`  reelpost ${prefix}<command> [options]`], screen),
    section("Commands", table(rows, screen), screen),
    section("Options", optionTable(COMMON_OPTIONS, screen), screen),
    `Run \`reelpost ${prefix}<command> --help\` for the options and examples of a command.`,
  ];
  return sections.join("\n\n");
}

export function commandHelp(command: Command, screen: Screen): string {
  const { description, arguments: args = [], examples } = command;
  const paragraphs =
    description === undefined
      ? []
      : description.split("\n\n").map((paragraph) => wrap(paragraph, screen.width).join("\n"));
  const sections = [
    upperFirst(`${command.summary}.`),
    ...paragraphs,
    section("Usage", [`  ${usageLine(command)}`], screen),
  ];
  if (args.length > 0)
    sections.push(
      section(
        "Arguments",
        table(
          args.map((argument) => [placeholderOf(argument), argumentSummary(argument)]),
          screen,
        ),
        screen,
      ),
    );
  sections.push(section("Options", optionTable({ ...command.options, ...COMMON_OPTIONS }, screen), screen));
  if (examples.length > 0)
    sections.push(
      section(
        "Examples",
        examples.flatMap(([line, what]) => [`  ${line}`, `      ${what}`]),
        screen,
      ),
    );
  return sections.join("\n\n");
}

/** `reelpost init [dir] [options]` */
export const usageLine = ({ name, arguments: args = [] }: Command): string =>
  ["reelpost", name, ...args.map(placeholderOf), "[options]"].join(" ");

const placeholderOf = ({ name, required }: Argument) => (required === true ? `<${name}>` : `[${name}]`);
const argumentSummary = ({ summary, choices }: Argument) =>
  choices === undefined ? summary : `${summary}: ${choices.join(", ")}`;

const section = (title: string, lines: readonly string[], { colour }: Screen) =>
  [painter({ colour })("bold", title), ...lines].join("\n");

function optionTable(options: Options, screen: Screen): string[] {
  const shown = Object.entries(options).filter(([, { hidden }]) => hidden !== true);
  return table(
    shown.map(([name, option]) => [flags(name, option), optionSummary(option)]),
    screen,
  );
}

function flags(name: string, { type, short, placeholder }: Option): string {
  const value = type === "boolean" ? "" : ` <${placeholder ?? type}>`;
  return `${short === undefined ? "    " : `-${short}, `}--${name}${value}`;
}

function optionSummary({ summary, choices, defaultText, multiple }: Option): string {
  const notes = [
    choices === undefined ? undefined : `${choices.length === 1 ? "only" : "one of"} ${choices.join(", ")}`,
    multiple === true ? "may be repeated" : undefined,
    defaultText === undefined ? undefined : `default: ${defaultText}`,
  ].filter((note) => note !== undefined);
  return notes.length === 0 ? summary : `${summary} (${notes.join("; ")})`;
}

function table(rows: readonly (readonly [string, string])[], { width }: Screen): string[] {
  const first = Math.min(28, Math.max(0, ...rows.map(([left]) => left.length)));
  return rows.flatMap(([left, right]) => {
    const [head = "", ...rest] = wrap(right, Math.max(24, width - first - 4));
    const indented = rest.map((line) => `${" ".repeat(first + 4)}${line}`);
    return left.length > first
      ? [`  ${left}`, `${" ".repeat(first + 4)}${head}`, ...indented]
      : [`  ${left.padEnd(first)}  ${head}`.trimEnd(), ...indented];
  });
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.trim().split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

const upperFirst = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
