import { pino, type Logger } from "pino";

export type Log = Logger;
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal" | "silent";

/** JSON lines on stderr; stdout belongs to what a command prints. Ids ride as fields: `{ message: id }`, `{ script: name }`. */
export function createLog(options: { level?: LogLevel; destination?: NodeJS.WritableStream } = {}): Log {
  return pino({ level: options.level ?? "info", base: undefined, timestamp: pino.stdTimeFunctions.isoTime }, options.destination ?? process.stderr);
}

export const silentLog: Log = pino({ level: "silent" });
