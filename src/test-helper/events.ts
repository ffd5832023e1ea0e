import { inspect } from "node:util";
import type { LogLine, ServerEvent } from "./api.ts";

interface ReportedLine {
  level: LogLine["level"];
  at: Date;
  message: unknown[];
}

/** Converts an event of the server to JSON values; log lines become text. */
export function toServerEvent(event: {
  event: ServerEvent["event"];
  worker?: string;
  logs?: ReportedLine[];
}): ServerEvent {
  const { logs, worker = "", ...rest } = event;
  return {
    ...rest,
    ...(event.worker !== undefined && { worker }),
    ...(logs !== undefined && { logs: logs.map((line) => toLogLine(line, worker)) }),
  };
}

/** Maximum number of characters in the message of a log line. */
const MAX_LENGTH = 8192;

export const toLogLine = ({ level, at, message }: ReportedLine, worker: string): LogLine => ({
  timestamp: at.getTime(),
  level,
  message: message
    .map((part) => (typeof part === "string" ? part : inspect(part, { depth: 6, breakLength: Infinity })))
    .join(" ")
    .slice(0, MAX_LENGTH),
  worker,
});
