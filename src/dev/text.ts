import { inspect, stripVTControlCharacters } from "node:util";

/** Octets for people: 812 B, 2.1 KB, 24.0 MB (powers of 1024). */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [value, unit] = bytes < 1024 * 1024 ? [bytes / 1024, "KB"] : [bytes / 1024 / 1024, "MB"];
  return `${value.toFixed(1)} ${unit}`;
}

export const formatMs = (ms: number): string => (ms < 10_000 ? `${Math.round(ms)}ms` : `${(ms / 1000).toFixed(1)}s`);

export const indent = (text: string, by: string): string => text.replaceAll("\n", `\n${by}`);

// Addresses, subjects and logs come from strangers: a terminal must not obey them. C0 and C1 controls, but tab and line feed.
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
// oxlint-disable-next-line no-control-regex
const SGR = /\u001b\[[0-9;]{0,20}m/g;

const visible = (text: string) => text.replace(CONTROLS, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, "0")}`);

/** Text of strangers on one line. */
export const oneLine = (text: string, max = 500): string => cut(visible(text).replace(/[\n\t]/g, " "), max);

/** Text of a worker's log: its colours may stay when the output has colours, every other control is made visible. */
export function logText(text: string, colour: boolean): string {
  const normal = text.replaceAll("\r\n", "\n");
  if (!normal.includes("\u001b")) return visible(normal);
  if (!colour) return visible(stripVTControlCharacters(normal));
  let out = "";
  let at = 0;
  for (const match of normal.matchAll(SGR)) {
    out += visible(normal.slice(at, match.index)) + match[0];
    at = match.index + match[0].length;
  }
  // A colour left on would run into the lines after it.
  return `${out}${visible(normal.slice(at))}\u001b[0m`;
}

/** The arguments of a console call as one text. */
export function logArguments(args: unknown[], max = 8192): string {
  return cut(args.map((arg) => (typeof arg === "string" ? arg : inspect(arg, { depth: 6, breakLength: 100, maxArrayLength: 100, maxStringLength: max }))).join(" "), max);
}

export const cut = (text: string, max: number): string => (text.length <= max ? text : `${text.slice(0, max)}... (${text.length - max} characters more)`);
