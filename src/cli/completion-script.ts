import { COMMON_OPTIONS, type Command, type Option } from "./command.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;

/** Returns the completion script for one shell, covering all commands that are not hidden. */
export function completionScript(shell: (typeof SHELLS)[number], commands: readonly Command[]): string {
  const visibleCommands = commands.filter(({ hidden }) => hidden !== true);
  return { bash, zsh, fish }[shell](visibleCommands);
}

const optionsOf = (command: Command | undefined) =>
  Object.entries({ ...command?.options, ...COMMON_OPTIONS } as Record<string, Option>).filter(
    ([, { hidden }]) => hidden !== true,
  );
const spellingsOf = ([name, { short }]: [string, Option]) => [
  `--${name}`,
  ...(short === undefined ? [] : [`-${short}`]),
];

function bash(commands: readonly Command[]): string {
  const names = commands.map(({ name }) => name);
  const nextWords = new Map(groupsOf(names));
  const cases = commands.map((command) => {
    const flags = optionsOf(command).flatMap(spellingsOf).join(" ");
    const values = optionsOf(command).flatMap((option) => valueCase(option));
    const [argument] = command.arguments ?? [];
    const words = (argument?.choices ?? nextWords.get(command.name) ?? []).join(" ");
    const files = argument?.complete === "directory" ? "-d" : argument?.complete === "file" ? "-f" : "";
    return `    "${command.name}")
      case "$prev" in
${values.map((line) => `        ${line}`).join("\n")}
      esac
      if [[ "$cur" == -* ]]; then COMPREPLY=($(compgen -W "${flags}" -- "$cur"))
      else COMPREPLY=($(compgen ${files} -W "${words}" -- "$cur")); fi ;;`;
  });
  return `# bash completion for reelpost
_reelpost() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" command="" word i
  # bash splits --option=value at the =
  if [[ "$cur" == "=" ]]; then cur=""; elif [[ "$prev" == "=" ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${command:+$command }\${COMP_WORDS[i]}"
    case "$word" in ${names
      .flatMap(prefixesOf)
      .map((name) => `"${name}"`)
      .join("|")}) command="$word" ;; esac
  done
  COMPREPLY=()
  case "$command" in
${cases.join("\n")}
    *) COMPREPLY=($(compgen -W "$(_reelpost_words "$command")" -- "$cur")) ;;
  esac
}
_reelpost_words() {
  case "$1" in
${groupsOf(names)
  .map(
    ([prefix, words]) =>
      `    "${prefix}") echo "${[...words, ...optionsOf(undefined).flatMap(spellingsOf)].join(" ")}" ;;`,
  )
  .join("\n")}
  esac
}
complete -F _reelpost reelpost`;
}

/**
 * One branch of the case on the previous word. Options without a value have none: the word after them is completed as
 * usual.
 */
function valueCase(option: [string, Option]): string[] {
  const [, { type, choices, complete }] = option;
  if (type === "boolean") return [];
  const completionOption =
    choices !== undefined
      ? `-W "${choices.join(" ")}"`
      : complete === "directory"
        ? "-d"
        : complete === "file"
          ? "-f"
          : undefined;
  return [
    `${spellingsOf(option).join("|")}) ${completionOption === undefined ? "" : `COMPREPLY=($(compgen ${completionOption} -- "$cur")); `}return ;;`,
  ];
}

/** "secret put" is completed via "secret". */
const prefixesOf = (name: string) => name.split(" ").map((_, i, words) => words.slice(0, i + 1).join(" "));

/**
 * Returns the words that can come first (under ""), and those that can follow each group name: [["", ["dev",
 * "secret"]], ["secret", ["put", "list"]]].
 */
function groupsOf(names: readonly string[]): [string, string[]][] {
  const groups = new Map<string, Set<string>>([["", new Set()]]);
  for (const name of names) {
    const words = name.split(" ");
    for (const [i, word] of words.entries()) {
      const prefix = words.slice(0, i).join(" ");
      groups.set(prefix, (groups.get(prefix) ?? new Set()).add(word));
    }
  }
  return [...groups].map(([prefix, words]) => [prefix, [...words]]);
}

/** zsh can run bash completions. */
const zsh = (commands: readonly Command[]) => `autoload -U +X bashcompinit && bashcompinit\n${bash(commands)}`;

function fish(commands: readonly Command[]): string {
  const quote = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", String.raw`\'`)}'`;
  const value = ({ type, choices, complete }: Option) => {
    if (type === "boolean") return "";
    if (choices !== undefined) return ` -x -a ${quote(choices.join(" "))}`;
    return complete === "directory" ? " -x -a '(__fish_complete_directories)'" : complete === "file" ? " -r -F" : " -x";
  };
  const lines = commands.flatMap((command) => {
    const seenConditions = command.name
      .split(" ")
      .map((word) => `__fish_seen_subcommand_from ${word}`)
      .join("; and ");
    return [
      `complete -c reelpost -n __fish_use_subcommand -a ${quote(command.name)} -d ${quote(command.summary)}`,
      ...optionsOf(command).map(([name, option]) => {
        const short = option.short === undefined ? "" : ` -s ${option.short}`;
        return `complete -c reelpost -n ${quote(seenConditions)} -l ${name}${short}${value(option)} -d ${quote(option.summary)}`;
      }),
      ...(command.arguments?.[0]?.choices ?? []).map(
        (choice) => `complete -c reelpost -n ${quote(seenConditions)} -a ${quote(choice)}`,
      ),
    ];
  });
  return ["# fish completion for reelpost", "complete -c reelpost -f", ...lines].join("\n");
}
