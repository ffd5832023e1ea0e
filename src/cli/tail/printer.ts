import { painter } from "../../kernel/paint.ts";
import { createConsole, createTerminalOutput } from "../../dev/index.ts";
import { oneLine } from "../../kernel/text.ts";
import type { CommandContext } from "../command.ts";
import { eventOfTrace } from "./events.ts";

/** Prints records as they arrive. */
export interface TailPrinter {
  print(frame: string): void;
  flushed(): Promise<void>;
}

/** Prints records as `reelpost dev` does, with their times; a frame that is not a record is printed unchanged. */
export function prettyPrinter({ stdout, env }: Pick<CommandContext, "stdout" | "env">, script: string): TailPrinter {
  const output = createTerminalOutput(stdout.stream, { env });
  const paint = painter(stdout);
  let prefix = "";
  const report = createConsole({
    output: { ...output, colour: stdout.colour, write: (text) => output.write(`${prefix}${text}`) },
  });
  return {
    print(frame) {
      const tailEvent = eventOfTrace(parse(frame), script);
      if (tailEvent === undefined) return output.write(oneLine(frame));
      prefix = tailEvent.at === undefined ? "" : `${paint("dim", clock(tailEvent.at))} `;
      report(tailEvent.event);
    },
    flushed: () => output.flushed(),
  };
}

/** Prints each record as the server sent it: indented for people who requested JSON, one per line for programs. */
export function jsonPrinter(
  { stdout, env }: Pick<CommandContext, "stdout" | "env">,
  { lines }: { lines: boolean },
): TailPrinter {
  const output = createTerminalOutput(stdout.stream, { env });
  return {
    print(frame) {
      const value = parse(frame);
      output.write(
        value === undefined
          ? JSON.stringify({ message: frame })
          : JSON.stringify(value, undefined, lines ? undefined : 2),
      );
    },
    flushed: () => output.flushed(),
  };
}

function parse(frame: string): unknown {
  try {
    return JSON.parse(frame) as unknown;
  } catch {
    return undefined;
  }
}

const two = (value: number) => String(value).padStart(2, "0");
const clock = (at: Date) =>
  Number.isNaN(at.getTime()) ? "--:--:--" : [at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join(":");
