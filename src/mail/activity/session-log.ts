import { rcptKey } from "./entry-reference.ts";
import { cleanText } from "./text.ts";
import type { Entry, TranscriptEntry, WorkerLogEntry } from "./types.ts";

const MAX_LINES = 150;
const MAX_LINE = 300;
const MAX_LOGS = 50;
const MAX_LOG = 500;
const OTHER_RECIPIENT = "RCPT TO:<another recipient>";

/**
 * Returns the lines of an SMTP session that the log of one recipient may show. Recipients may belong to different
 * accounts, so lines about other recipients are redacted, and a reply about several is reduced to its codes.
 */
export function transcriptFor(entry: Pick<Entry, "to">, lines: unknown, recipients: number): TranscriptEntry[] {
  if (!Array.isArray(lines)) return [];
  const shown: TranscriptEntry[] = [];
  for (const line of lines.slice(0, MAX_LINES) as { by?: unknown; text?: unknown; rcpt?: unknown }[]) {
    if ((line.by !== "C" && line.by !== "S" && line.by !== "*") || typeof line.text !== "string") continue;
    const isForeign = typeof line.rcpt === "string" && rcptKey(line.rcpt) !== rcptKey(entry.to);
    shown.push({
      by: line.by,
      text: isForeign ? (line.by === "C" ? OTHER_RECIPIENT : codesOf(line.text)) : cleanText(line.text, MAX_LINE),
    });
  }
  const last = shown.at(-1);
  if (recipients > 1 && last?.by === "S") last.text = codesOf(last.text);
  return shown;
}

/** Returns the reply code and the enhanced code, without the text. */
const codesOf = (reply: string): string => /^\d{3}(?:[ -]\d\.\d{1,3}\.\d{1,3})?/.exec(reply)?.[0] ?? "";

/** Adds what a worker logged while it handled the message. */
export function addWorkerLogs(entry: Entry, detail: Record<string, unknown>): void {
  const { logs } = detail;
  if (!Array.isArray(logs)) return;
  const kept = (entry.workerLogs ??= []);
  for (const log of logs as { at?: unknown; level?: unknown; text?: unknown }[]) {
    if (kept.length === MAX_LOGS) return;
    if (typeof log.at !== "number" || typeof log.level !== "string" || typeof log.text !== "string") continue;
    kept.push({
      at: log.at,
      level: cleanText(log.level, 20) as WorkerLogEntry["level"],
      text: cleanText(log.text, MAX_LOG),
    });
  }
}
