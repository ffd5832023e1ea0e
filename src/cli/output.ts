import type { Output } from "./command.ts";

/** One of the program's two output streams. `plain` disables colour in any case. */
export function createOutput(
  stream: NodeJS.WriteStream,
  env: Record<string, string | undefined>,
  plain: boolean,
): Output {
  const isTerminal = stream.isTTY === true;
  return {
    stream,
    isTerminal,
    // https://no-color.org: disables colour if set and not empty, whatever its value.
    colour: isTerminal && !plain && !env.NO_COLOR && env.TERM !== "dumb",
    width: isTerminal ? Math.min(120, Math.max(40, stream.columns ?? 80)) : 80,
    line: (text = "") => void stream.write(`${text}\n`),
  };
}
