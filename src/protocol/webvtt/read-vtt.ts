import {
  type CaptionsReading,
  type Cue,
  cueSettings,
  type CueTiming,
  MAX_CUE_TEXT,
  MAX_CUES,
  normaliseCueText,
  parseTiming,
  regionSettings,
} from "./cues.ts";

/** Returns true if the text has the first line of WebVTT (4.1), which is unique to this format. */
export const isVtt = (text: string): boolean => /^WEBVTT(?:[ \t\r\n]|$)/.test(text);

/** Maximum size of all STYLE and REGION blocks together. */
const MAX_DECORATION_LENGTH = 65_536;

/**
 * Parses WebVTT as in 6.1, skipping unreadable blocks. Also drops comments, header metadata (X-TIMESTAMP-MAP in a
 * segmented stream would shift every cue), and styles that refer to other files.
 */
export function parseVtt(text: string): CaptionsReading {
  const lines = createLines(text);
  lines.take();
  // The header ends at an empty line, or at the start of a cue without one.
  while (lines.peek() !== undefined && lines.peek() !== "" && !lines.peek()!.includes("-->")) lines.take();

  const cues: Cue[] = [];
  const styles: string[] = [];
  const regions: string[] = [];
  let decorationLength = 0;
  let skippedCues: { count: number; line: number } | undefined;

  for (let block = readBlock(lines); block !== undefined; block = readBlock(lines)) {
    if (block.kind === "cue") {
      const cue = makeCue(block);
      if (cue === undefined)
        skippedCues = { count: (skippedCues?.count ?? 0) + 1, line: skippedCues?.line ?? block.line };
      else if (cue.text !== "" && cues.push(cue) > MAX_CUES)
        return { ok: false, why: `it has more than ${MAX_CUES} cues` };
      continue;
    }
    const body = block.kind === "REGION" ? regionSettings(block.text) : toHarmlessStyle(block.text);
    if (body === "" || (decorationLength += body.length) > MAX_DECORATION_LENGTH) continue;
    (block.kind === "REGION" ? regions : styles).push(body);
  }
  cues.sort((a, b) => a.start - b.start);
  return { ok: true, captions: { cues, styles, regions }, skipped: skippedCues };
}

type Block =
  | { kind: "STYLE" | "REGION"; text: string }
  | { kind: "cue"; line: number; id: string; timing: CueTiming | undefined; text: string };

/** Reads the next cue, style or region (6.2). */
function readBlock(lines: Lines): Block | undefined {
  while (lines.peek() !== undefined) {
    if (lines.peek() === "") {
      lines.take();
      continue;
    }
    const first = lines.take()!;
    if (first.includes("-->")) return readCueBlock(lines, "", first);
    if (lines.peek()?.includes("-->") === true) return readCueBlock(lines, first, lines.take()!);
    const [, kind] = /^(STYLE|REGION)[ \t]*$/.exec(first) ?? [];
    const text = readBody(lines);
    if (kind !== undefined) return { kind: kind as "STYLE" | "REGION", text };
  }
  return undefined;
}

function readCueBlock(lines: Lines, id: string, timing: string): Block {
  const line = lines.number();
  return { kind: "cue", line, id, timing: parseTiming(timing), text: readBody(lines) };
}

/** Reads up to an empty line or the start of a cue; an oversized body is read only until it is detected. */
function readBody(lines: Lines): string {
  const body: string[] = [];
  let size = 0;
  for (let next = lines.peek(); next !== undefined && next !== "" && !next.includes("-->"); next = lines.peek()) {
    lines.take();
    if (size <= MAX_DECORATION_LENGTH) body.push(next);
    size += next.length + 1;
  }
  return body.join("\n");
}

function makeCue({ id, timing, text }: Extract<Block, { kind: "cue" }>): Cue | undefined {
  const normalText = text.length > MAX_CUE_TEXT ? undefined : normaliseCueText(text);
  if (timing === undefined || normalText === undefined) return undefined;
  const settings = cueSettings(timing.rest);
  return {
    ...(id.trim() !== "" && id.length <= 200 && { id: id.trim() }),
    start: timing.start,
    end: timing.end,
    ...(settings !== "" && { settings }),
    text: normalText,
  };
}

/**
 * Drops styles that load resources or may conceal their effect with escapes: these are unacceptable on third-party
 * pages.
 */
const toHarmlessStyle = (css: string): string =>
  /url\s*\(|@import|image\s*\(|image-set|\\|</i.test(css) ? "" : css.trim();

/**
 * Iterates over the lines of a text without a list of them: for a text that consists only of line endings, the list
 * would be many times larger than the text.
 */
interface Lines {
  /** Returns the next line without consuming it; undefined at the end. */
  peek(): string | undefined;
  take(): string | undefined;
  /** Returns the number of the last line consumed, starting at 1. */
  number(): number;
}

/** CRLF, CR and LF each end a line (WebVTT 4.1). */
export function createLines(text: string): Lines {
  const normalizedText = text.replaceAll(/\r\n?/g, "\n");
  let at = 0;
  let count = 0;
  const end = () => {
    const lineEnd = normalizedText.indexOf("\n", at);
    return lineEnd < 0 ? normalizedText.length : lineEnd;
  };
  return {
    peek: () => (at > normalizedText.length ? undefined : normalizedText.slice(at, end())),
    take() {
      if (at > normalizedText.length) return undefined;
      const line = normalizedText.slice(at, end());
      at += line.length + 1;
      count++;
      return line;
    },
    number: () => count,
  };
}
