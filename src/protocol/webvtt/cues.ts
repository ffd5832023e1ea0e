/** Captions of a video. */
export interface WebvttCaptions {
  /** Sorted by start time. */
  cues: Cue[];
  /** CSS, one entry per STYLE block. */
  styles: string[];
  /** Settings, one entry per REGION block. */
  regions: string[];
}

export interface Cue {
  id?: string;
  /** In milliseconds; the end is after the start. */
  start: number;
  end: number;
  /** Cue settings, such as "line:0 align:start". */
  settings?: string;
  /** Lines of cue text (WebVTT 4.2.2), none of them empty, escaped, and with known WebVTT tags only. */
  text: string;
}

/** `skipped`: number of unreadable cues, and the line where the first one starts. */
export type CaptionsReading =
  | { ok: true; captions: WebvttCaptions; skipped: { count: number; line: number } | undefined }
  | { ok: false; why: string };

/** More than one cue per second for ten hours. A larger file is not meant to be read by viewers. */
export const MAX_CUES = 50_000;
/** Maximum length of the text in a cue. */
export const MAX_CUE_TEXT = 10_000;

/** Longer lines are not timings: all existing settings fit into this length. */
const MAX_TIMING_LINE = 1000;
const TIME = /^\s*(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})(?!\d)/;

export interface CueTiming {
  start: number;
  end: number;
  /** Text following the end time. */
  rest: string;
}

/**
 * Parses `00:01.000 --> 00:04.000 line:0`, where SubRip uses commas instead of points. Undefined if it is malformed, or
 * does not end after its start (WebVTT 4.1: the end time must be greater).
 */
export function parseTiming(line: string): CueTiming | undefined {
  const arrow = line.length > MAX_TIMING_LINE ? -1 : line.indexOf("-->");
  if (arrow < 0) return undefined;
  const start = parseTime(line.slice(0, arrow));
  const end = parseTime(line.slice(arrow + 3));
  if (start === undefined || end === undefined || start.rest.trim() !== "" || end.ms <= start.ms) return undefined;
  return { start: start.ms, end: end.ms, rest: end.rest };
}

function parseTime(text: string): { ms: number; rest: string } | undefined {
  const timeMatch = TIME.exec(text);
  if (timeMatch === null) return undefined;
  const [wholeMatch, hours = "0", minutes = "", seconds = "", fraction = ""] = timeMatch;
  if (Number(minutes) > 59 || Number(seconds) > 59) return undefined;
  return {
    ms: ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000 + Number(fraction.padEnd(3, "0")),
    rest: text.slice(wholeMatch.length),
  };
}

/** Cue settings (WebVTT 4.4), limited to values on which players agree. */
const SETTINGS: Record<string, RegExp> = {
  vertical: /^(?:rl|lr)$/,
  line: /^(?:-?\d{1,4}|\d{1,3}(?:\.\d{1,6})?%)(?:,(?:start|center|end))?$/,
  position: /^\d{1,3}(?:\.\d{1,6})?%(?:,(?:line-left|center|line-right))?$/,
  size: /^\d{1,3}(?:\.\d{1,6})?%$/,
  align: /^(?:start|center|end|left|right)$/,
  region: /^[^\s:>]{1,100}$/,
};

/** Region settings (WebVTT 4.3). */
const REGION_SETTINGS: Record<string, RegExp> = {
  id: /^[^\s:>]{1,100}$/,
  width: SETTINGS["size"]!,
  lines: /^\d{1,3}$/,
  regionanchor: /^\d{1,3}(?:\.\d{1,6})?%,\d{1,3}(?:\.\d{1,6})?%$/,
  viewportanchor: /^\d{1,3}(?:\.\d{1,6})?%,\d{1,3}(?:\.\d{1,6})?%$/,
  scroll: /^up$/,
};

export const cueSettings = (text: string): string => keepKnown(text, SETTINGS);
export const regionSettings = (text: string): string => keepKnown(text, REGION_SETTINGS);

/** Returns the valid settings, each once with its last value. "middle" is the old name for "center". */
function keepKnown(text: string, patterns: Record<string, RegExp>): string {
  const keptSettings = new Map<string, string>();
  for (const setting of text.split(/[\s]+/)) {
    const colon = setting.indexOf(":");
    const name = setting.slice(0, Math.max(colon, 0));
    const value = name === "align" ? setting.slice(colon + 1).replace("middle", "center") : setting.slice(colon + 1);
    if (Object.hasOwn(patterns, name) && patterns[name]!.test(value)) keptSettings.set(name, value);
  }
  return [...keptSettings].map(([name, value]) => `${name}:${value}`).join(" ");
}

/** A tag or possible tag, up to the first character that ends it or starts another tag. */
const PIECES = /<(\/?[a-z0-9][^<>\n]{0,500})>|[<>&]|[^<>&]+/giy;
const TAG = /^(?:\/(?:c|i|b|u|v|lang|ruby|rt)|(?:c|i|b|u|v|lang|ruby|rt)(?:\.[^\s.&<>]{1,100}){0,10}(?:[ \t][^\n]*)?)$/;
const TIMESTAMP = /^(?:\d{2,6}:)?[0-5]\d:[0-5]\d\.\d{3}$/;
const ENTITY = /&(?:[a-z][a-z0-9]{1,31}|#\d{1,7}|#x[0-9a-f]{1,6});/giy;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/**
 * Normalizes cue text to a form that all players interpret in the same way: preserves known WebVTT tags, removes others
 * but preserves their content, and escapes the rest as text. The result cannot end its cue. Idempotent. Undefined if
 * the result is too long.
 */
export function normaliseCueText(text: string): string | undefined {
  const cleanText = text.replaceAll(CONTROLS, "");
  let out = "";
  PIECES.lastIndex = 0;
  for (let piece = PIECES.exec(cleanText); piece !== null; piece = PIECES.exec(cleanText)) {
    const [wholeMatch, tag] = piece;
    if (tag !== undefined) {
      out += tagText(tag);
    } else if (wholeMatch === "&") {
      ENTITY.lastIndex = piece.index;
      out += ENTITY.test(cleanText) ? "&" : "&amp;";
    } else {
      out += wholeMatch === "<" ? "&lt;" : wholeMatch === ">" ? "&gt;" : wholeMatch;
    }
  }
  if (out.length > MAX_CUE_TEXT) return undefined;
  return out
    .split("\n")
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== "")
    .join("\n");
}

/** "-->" ends a cue wherever it occurs, even in an annotation. */
function tagText(tag: string): string {
  const trimmed = tag.replace(/[\s-]+$/, "");
  return TAG.test(trimmed) || TIMESTAMP.test(trimmed) ? `<${trimmed}>` : "";
}
