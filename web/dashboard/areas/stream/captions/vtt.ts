/** A cue of WebVTT (W3C WebVTT 4). Times in seconds. */
interface Cue {
  start: number;
  end: number;
  text: string;
  /** Settings after the times, for example `line:0`; kept unchanged. */
  settings: string;
}

const TIMES = /^((?:\d+:)?\d{2}:\d{2}\.\d{3})\s+-->\s+((?:\d+:)?\d{2}:\d{2}\.\d{3})\s*(.*)$/;

/** Reads the cues of a WebVTT file; other blocks, such as notes and styles, are ignored. */
export function parseVtt(file: string): Cue[] {
  return file
    .replaceAll(/\r\n?/g, "\n")
    .split(/\n{2,}/)
    .flatMap((block) => {
      const lines = block.split("\n");
      const index = lines.findIndex((line) => TIMES.test(line));
      const [, start, end, settings] = TIMES.exec(lines[index] ?? "") ?? [];
      if (start === undefined || end === undefined) return [];
      const text = lines
        .slice(index + 1)
        .join("\n")
        .trimEnd();
      return [{ start: parseTime(start)!, end: parseTime(end)!, text, settings: settings ?? "" }];
    });
}

export function formatVtt(cues: readonly Cue[]): string {
  const blocks = cues
    .toSorted((a, b) => a.start - b.start)
    // An empty line or an arrow would end the text of the cue.
    .map(({ start, end, text, settings }) => {
      const lines = text
        .replaceAll("-->", "→")
        .replaceAll(/\n{2,}/g, "\n")
        .trim();
      return `${`${formatTimestamp(start)} --> ${formatTimestamp(end)} ${settings}`.trimEnd()}\n${lines}`;
    });
  return `${["WEBVTT", ...blocks].join("\n\n")}\n`;
}

/** Parses `1:02.500`, `00:01:02.5` or `62.5` to seconds; undefined if the text is not a time. */
export function parseTime(text: string): number | undefined {
  const parts = text.trim().split(":");
  if (parts.length > 3 || !parts.every((part) => /^\d+(\.\d+)?$/.test(part))) return undefined;
  return parts.reduce((seconds, part) => seconds * 60 + Number(part), 0);
}

/** Formats a time as `01:02.500`, and includes the hours if there is at least one. */
export function formatTimestamp(seconds: number): string {
  const milliseconds = Math.round(seconds * 1000);
  const pad = (value: number, length = 2) => String(Math.floor(value)).padStart(length, "0");
  const hours = Math.floor(milliseconds / 3_600_000);
  const rest = `${pad((milliseconds / 60_000) % 60)}:${pad((milliseconds / 1000) % 60)}.${pad(milliseconds % 1000, 3)}`;
  return hours > 0 ? `${pad(hours)}:${rest}` : rest;
}
