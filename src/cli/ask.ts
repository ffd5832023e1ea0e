import { createInterface } from "node:readline/promises";
import type { ReadStream } from "node:tty";
import type { CommandContext } from "./command.ts";
import { commandErrors } from "./errors.ts";

type Asking = Pick<CommandContext, "stdin" | "stderr">;

/** True on an interactive terminal. Questions go to stderr, because a program may read stdout. */
export const canAsk = ({ stdin, stderr, json }: Asking & Pick<CommandContext, "json">): boolean =>
  stdin.isTTY === true && stderr.isTerminal && !json;

/** Resolves after a yes, on the command line or the terminal; throws otherwise. */
export async function confirm(
  question: string,
  yes: boolean | undefined,
  context: Asking & Pick<CommandContext, "json">,
): Promise<void> {
  if (yes === true) return;
  if (!canAsk(context)) throw commandErrors.notConfirmed({ question });
  if (!/^(y|yes)$/i.test(await ask(`${question} [y/N] `, context))) throw commandErrors.declined();
}

export async function ask(question: string, { stdin, stderr }: Asking): Promise<string> {
  const prompt = createInterface({ input: stdin, output: stderr.stream });
  const closed = new AbortController();
  prompt.once("close", () => closed.abort());
  prompt.once("SIGINT", () => prompt.close());
  try {
    return (await prompt.question(question, { signal: closed.signal })).trim();
  } catch (thrown) {
    throw closed.signal.aborted ? commandErrors.declined() : thrown;
  } finally {
    prompt.close();
  }
}

const MAX_HIDDEN_CHARACTERS = 64 * 1024;

/** Reads one line without echo. None of it is ever written to the terminal. */
export async function askHidden(question: string, { stdin, stderr }: Asking): Promise<string> {
  const terminal = stdin as ReadStream;
  stderr.stream.write(question);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let line = "";
  const onData = (data: string) => {
    for (const character of data) {
      if (character === "\r" || character === "\n") return resolve(line);
      // Ctrl-C and Ctrl-D cancel; Ctrl-U clears the line.
      if (character === "\u0003" || character === "\u0004") return reject(commandErrors.declined());
      if (character === "\u0015") line = "";
      else if (character === "\u007F" || character === "\b") line = [...line].slice(0, -1).join("");
      else if (line.length < MAX_HIDDEN_CHARACTERS) line += character;
    }
  };
  const onEnd = () => reject(commandErrors.declined());
  terminal.setRawMode(true);
  terminal.setEncoding("utf8").on("data", onData).once("end", onEnd).resume();
  try {
    return await promise;
  } finally {
    terminal.off("data", onData).off("end", onEnd).pause();
    terminal.setRawMode(false);
    stderr.stream.write("\n");
  }
}
