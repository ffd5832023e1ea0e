import type { Clock } from "../kernel/index.ts";

/** One entry determines parsing, help and completion. */
export interface Option {
  type: "string" | "number" | "boolean";
  /** A single letter, such as `p` for `-p`. */
  short?: string;
  /** A phrase without a full stop. */
  summary: string;
  /** Placeholder of the value in help: `--port <number>`. Default: the type. */
  placeholder?: string;
  /** Can be repeated; the value is a list. */
  multiple?: boolean;
  /** The allowed values. */
  choices?: readonly string[];
  /** For numbers: an integer within these bounds. */
  min?: number;
  max?: number;
  /** The default shown in help. The function that the command calls applies it. */
  defaultText?: string;
  hidden?: boolean;
  /** Kind of completions for the value. */
  complete?: "file" | "directory";
}

export interface Argument {
  name: string;
  summary: string;
  required?: boolean;
  choices?: readonly string[];
  complete?: "file" | "directory";
}

export type Options = Record<string, Option>;

type Single<O extends Option> = O["type"] extends "number"
  ? number
  : O["type"] extends "boolean"
    ? boolean
    : O["choices"] extends readonly (infer C)[]
      ? C
      : string;
/** The values passed to a command, by option name. */
export type Values<O extends Options> = {
  [Name in keyof O]: O[Name]["multiple"] extends true ? Single<O[Name]>[] : Single<O[Name]> | undefined;
};

/** Environment of a command. */
export interface CommandContext {
  cwd: string;
  env: Record<string, string | undefined>;
  clock: Clock;
  /** The version of Reelpost. */
  version: string;
  stdin: NodeJS.ReadStream;
  stdout: Output;
  stderr: Output;
  /** `--json`: results and errors are JSON on stdout. */
  json: boolean;
  /** Registers a function to call when the command ends, with or without an error. */
  atEnd(cleanup: () => Promise<void>): void;
}

export interface Output {
  readonly stream: NodeJS.WritableStream;
  readonly isTerminal: boolean;
  /** True on a terminal, unless plain text was requested. */
  readonly colour: boolean;
  /** Available columns; 80 if the output is not a terminal. */
  readonly width: number;
  /** Appends the line break. */
  line(text?: string): void;
}

export interface Command<O extends Options = Options> {
  /** One or more words: "dev", "secret put". */
  name: string;
  summary: string;
  /** Paragraphs for the command's help page. */
  description?: string;
  arguments?: readonly Argument[];
  options: O;
  examples: readonly (readonly [command: string, what: string])[];
  hidden?: boolean;
  /** Resolves with the exit code; undefined is 0. The caller reports thrown errors. */
  run(values: Values<O>, args: string[], context: CommandContext): Promise<number | undefined>;
}

/** Preserves the option types for `run`. */
// A list of commands cannot preserve the types of each command. Only the parser, which knows the options, calls run()
// through it.
export const defineCommand = <const O extends Options>(command: Command<O>): Command => command as unknown as Command;

/** Options that every command accepts. */
export const COMMON_OPTIONS = {
  json: { type: "boolean", summary: "print results and errors as JSON" },
  "no-color": { type: "boolean", summary: "disable colours, like NO_COLOR" },
  help: { type: "boolean", short: "h", summary: "show help" },
  version: { type: "boolean", short: "v", summary: "show the version" },
} as const satisfies Options;

/** 0 means success. */
export const EXIT = { failed: 1, usage: 2, fault: 70 } as const;
