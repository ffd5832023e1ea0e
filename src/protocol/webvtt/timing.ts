/** Longer lines are not timings: all existing settings fit into this length. */
const MAX_LINE = 1000;
const TIME = /^\s*(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})(?!\d)/;

export interface Timing {
  start: number;
  end: number;
  /** Text following the end time. */
  rest: string;
}

/**
 * Parses `00:01.000 --> 00:04.000 line:0`, where SubRip uses commas instead of points. Undefined if it is malformed, or
 * does not end after its start (WebVTT 4.1: the end time must be greater).
 */
export function parseTiming(line: string): Timing | undefined {
  const arrow = line.length > MAX_LINE ? -1 : line.indexOf("-->");
  if (arrow < 0) return undefined;
  const start = parseTime(line.slice(0, arrow));
  const end = parseTime(line.slice(arrow + 3));
  if (start === undefined || end === undefined || start.rest.trim() !== "" || end.ms <= start.ms) return undefined;
  return { start: start.ms, end: end.ms, rest: end.rest };
}

function parseTime(text: string): { ms: number; rest: string } | undefined {
  const found = TIME.exec(text);
  if (found === null) return undefined;
  const [whole, hours = "0", minutes = "", seconds = "", fraction = ""] = found;
  if (Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  return {
    ms: ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(fraction.padEnd(3, "0")),
    rest: text.slice(whole.length),
  };
}

/** Formats a time as `00:00:01.000`, with two or more digits for hours. */
export function formatTime(ms: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const seconds = Math.floor(ms / 1000);
  return `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}.${String(ms % 1000).padStart(3, "0")}`;
}
