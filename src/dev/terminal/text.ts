import { inspect, stripVTControlCharacters } from "node:util";
import { truncate, escapeControlCharacters } from "../../kernel/text.ts";

export { truncate, formatMs, formatSize, indent, oneLine } from "../../kernel/text.ts";

// oxlint-disable-next-line no-control-regex
const SGR = /\u001b\[[0-9;]{0,20}m/g;

/** Log text of a worker: keeps colours if the output supports colours, and escapes all other control characters. */
export function logText(text: string, colour: boolean): string {
  const normalizedText = text.replaceAll("\r\n", "\n");
  if (!normalizedText.includes("\u001b")) return escapeControlCharacters(normalizedText);
  if (!colour) return escapeControlCharacters(stripVTControlCharacters(normalizedText));
  let out = "";
  let at = 0;
  for (const match of normalizedText.matchAll(SGR)) {
    out += escapeControlCharacters(normalizedText.slice(at, match.index)) + match[0];
    at = match.index + match[0].length;
  }
  // An unclosed colour sequence would affect the following lines.
  return `${out}${escapeControlCharacters(normalizedText.slice(at))}\u001b[0m`;
}

/** Returns the arguments of a console call as one string. */
export function logArguments(args: unknown[], max = 8192): string {
  return truncate(
    args
      .map((arg) =>
        typeof arg === "string"
          ? arg
          : inspect(arg, { depth: 6, breakLength: 100, maxArrayLength: 100, maxStringLength: max }),
      )
      .join(" "),
    max,
  );
}
