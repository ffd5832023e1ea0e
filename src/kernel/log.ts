import { pino, type Logger } from "pino";

export type Log = Logger;
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/**
 * Writes JSON lines to stderr; stdout is reserved for command output. Ids are logged as fields: `{ message: id }`, `{
 * script: name }`.
 */
/**
 * Control characters that JSON does not escape: a terminal that prints the line would interpret them (ECMA-48 8.3.16,
 * CSI).
 */
// oxlint-disable-next-line no-control-regex
const escapeControls = (line: string): string =>
  line.replace(/[\u007f-\u009f\u2028\u2029]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);

export function createLog(options: { level?: LogLevel; destination?: NodeJS.WritableStream } = {}): Log {
  return pino(
    {
      level: options.level ?? "info",
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      hooks: { streamWrite: escapeControls },
    },
    options.destination ?? process.stderr,
  );
}

export const silentLog: Log = pino({ level: "silent" });
