import type { Clock } from "../kernel/index.ts";
import type { Command, Options, Surroundings, Values } from "./command.ts";
import { commandHelp, groupHelp } from "./help.ts";
import { createOutput } from "./output.ts";
import { parseCommandLine } from "./parse.ts";
import { reportError } from "./report-error.ts";

export interface RunOptions {
  argv: readonly string[];
  commands: readonly Command[];
  /** Summaries of command groups. */
  groups?: Readonly<Record<string, string>>;
  version: string;
  cwd: string;
  env: Record<string, string | undefined>;
  clock: Clock;
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  stderr: NodeJS.WriteStream;
}

/** Runs one command line to its end. Resolves with the exit code; never rejects. */
export async function runCommandLine({ argv, commands, groups = {}, version, ...world }: RunOptions): Promise<number> {
  const { command, words, values, args, errors } = parseCommandLine(
    argv[0] === "help" ? [...argv.slice(1), "--help"] : argv,
    commands,
  );
  const plain = values["no-color"] === true;
  const surroundings: Surroundings = {
    cwd: world.cwd,
    env: world.env,
    clock: world.clock,
    version,
    stdin: world.stdin,
    stdout: createOutput(world.stdout, world.env, plain),
    stderr: createOutput(world.stderr, world.env, plain),
    json: values.json === true,
  };
  const { stdout, json } = surroundings;
  try {
    const wantsHelp = values.help === true || (command === undefined && errors.length === 0 && values.version !== true);
    if (wantsHelp)
      stdout.line(command === undefined ? groupHelp(words, commands, stdout, groups) : commandHelp(command, stdout));
    else if (values.version === true) stdout.line(json ? JSON.stringify({ version }) : version);
    else if (errors.length > 0) throw errors.length === 1 ? errors[0]! : new AggregateError(errors);
    else return (await command!.run(values as Values<Options>, args, surroundings)) ?? 0;
    return 0;
  } catch (thrown) {
    return reportError(thrown, surroundings);
  }
}
