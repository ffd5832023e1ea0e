import type { Clock } from "../kernel/index.ts";
import { COMMON_OPTIONS, type Command, type Options, type CommandContext, type Values } from "./command.ts";
import { commandHelp, firstPage, groupHelp } from "./help.ts";
import { createOutput } from "./output.ts";
import { parseCommandLine } from "./parse.ts";
import type { Noun } from "./registry.ts";
import { reportError } from "./report-error.ts";

interface RunOptions {
  argv: readonly string[];
  nouns: readonly Noun[];
  /** Commands that the line can name. */
  commandsFor(argv: readonly string[]): Promise<readonly Command[]>;
  version: string;
  cwd: string;
  env: Record<string, string | undefined>;
  clock: Clock;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

/** Runs one command line to completion. Resolves with the exit code; never rejects. */
export async function runCommandLine({ argv: givenArgv, nouns, version, ...environment }: RunOptions): Promise<number> {
  const argv = givenArgv[0] === "help" ? [...givenArgv.slice(1), "--help"] : givenArgv;
  // The first page of help and the version need no command: loading all takes most of their time.
  const commands = argv.every(isCommonOption) ? [] : await environment.commandsFor(argv);
  const { command, words, values, args, errors } = parseCommandLine(argv, commands);
  const isPlain = values["no-color"] === true;
  const cleanups: (() => Promise<void>)[] = [];
  const context: CommandContext = {
    cwd: environment.cwd,
    env: environment.env,
    clock: environment.clock,
    version,
    stdin: environment.stdin,
    stdout: createOutput(environment.stdout, environment.env, isPlain),
    stderr: createOutput(environment.stderr, environment.env, isPlain),
    json: values.json === true,
    atEnd: (cleanup) => void cleanups.push(cleanup),
  };
  const { stdout, json } = context;
  try {
    const wantsHelp = values.help === true || (command === undefined && errors.length === 0 && values.version !== true);
    if (wantsHelp)
      stdout.line(
        command !== undefined
          ? commandHelp(command, stdout)
          : words.length === 0
            ? firstPage(nouns, stdout)
            : groupHelp(words, commands, stdout, nouns),
      );
    else if (values.version === true) stdout.line(json ? JSON.stringify({ version }) : version);
    else if (errors.length > 0) throw errors.length === 1 ? errors[0]! : new AggregateError(errors);
    else return (await command!.run(values as Values<Options>, args, context)) ?? 0;
    return 0;
  } catch (thrown) {
    return reportError(thrown, context);
  } finally {
    for (const cleanup of cleanups) await cleanup();
  }
}

const COMMON = new Set(
  Object.entries(COMMON_OPTIONS as Options).flatMap(([name, { short }]) => [
    `--${name}`,
    ...(short === undefined ? [] : [`-${short}`]),
  ]),
);
const isCommonOption = (word: string) => COMMON.has(word);
