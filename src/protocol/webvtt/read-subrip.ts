import { type CaptionsReading, type Cue, MAX_CUE_TEXT, MAX_CUES, normaliseCueText, parseTiming } from "./cues.ts";
import { createLines } from "./read-vtt.ts";

/**
 * Override codes that SubRip files borrow from another format: {\an8} places a caption at the top, and the others
 * specify colours and fonts.
 */
const OVERRIDES = /\{\\[^{}\n]{0,200}\}/g;
const AT_TOP = /\{\\an[789]\}/;
/** An arrow within a caption is ordinary text. */
const BEGINS_CUE = /^\s*[\d:.,]{1,30}\s*-->/;

/**
 * Parses SubRip: a number, `00:00:01,000 --> 00:00:04,000`, lines of text, an empty line. The format has no standard;
 * numbers and empty lines are sometimes missing.
 */
export function parseSubrip(text: string): CaptionsReading {
  const lines = createLines(text);
  const cues: Cue[] = [];
  let skippedCues: { count: number; line: number } | undefined;

  for (let line = lines.take(); line !== undefined; line = lines.take()) {
    if (!BEGINS_CUE.test(line)) continue;
    const timing = parseTiming(line);
    const startLine = lines.number();
    const body: string[] = [];
    let size = 0;
    for (
      let next = lines.peek();
      next !== undefined && next.trim() !== "" && !BEGINS_CUE.test(next);
      next = lines.peek()
    ) {
      lines.take();
      if (size <= MAX_CUE_TEXT) body.push(next);
      size += next.length + 1;
    }
    // The empty line before the next cue is missing: this line is the number of that cue.
    if (BEGINS_CUE.test(lines.peek() ?? "") && /^\s*\d{1,9}\s*$/.test(body.at(-1) ?? "")) body.pop();
    const raw = body.join("\n");
    const normalText = size > MAX_CUE_TEXT ? undefined : normaliseCueText(raw.replaceAll(OVERRIDES, ""));
    if (timing === undefined || normalText === undefined) {
      skippedCues = { count: (skippedCues?.count ?? 0) + 1, line: skippedCues?.line ?? startLine };
      continue;
    }
    if (
      normalText !== "" &&
      cues.push({
        start: timing.start,
        end: timing.end,
        ...(AT_TOP.test(raw) && { settings: "line:0" }),
        text: normalText,
      }) > MAX_CUES
    )
      return { ok: false, why: `it has more than ${MAX_CUES} cues` };
  }
  if (cues.length === 0)
    return {
      ok: false,
      why:
        skippedCues === undefined
          ? "it is neither WebVTT, which starts with WEBVTT, nor SubRip"
          : `it has no cues with valid times (line ${skippedCues.line})`,
    };
  cues.sort((a, b) => a.start - b.start);
  return { ok: true, captions: { cues, styles: [], regions: [] }, skipped: skippedCues };
}
