import { escapeCueText, formatVtt, plainText, readCaptions } from "../../protocol/webvtt/index.ts";
import { streamErrors } from "../errors.ts";
import type { Chapter } from "./port.ts";

const MAX_CHAPTERS = 200;
const MAX_TITLE = 200;
/** Limit while the duration of a video is unknown: 1,000 hours. */
const MAX_START_S = 3_600_000;
/** Duration of the last chapter in a WebVTT file if the duration of the video is unknown. */
const UNKNOWN_LENGTH_S = 1;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f\u007f]/;

/**
 * Validates the chapters, sorts them by start, and rounds the starts to milliseconds. `duration` in seconds; -1 if it
 * is unknown. Throws badChapters.
 */
export function checkChapters(chapters: readonly Chapter[], duration: number): Chapter[] {
  if (chapters.length > MAX_CHAPTERS)
    throw streamErrors.badChapters({ reason: `there are ${chapters.length}, the maximum is ${MAX_CHAPTERS}` });
  const sorted = chapters
    .map(({ start, title }, index): Chapter => {
      const rejectChapter = (reason: string) => streamErrors.badChapters({ reason: `chapter ${index + 1} ${reason}` });
      const text = title.trim();
      if (!Number.isFinite(start) || start < 0) throw rejectChapter(`starts at ${start}`);
      const rounded = Math.round(start * 1000) / 1000;
      if (duration > 0 && rounded >= duration)
        throw rejectChapter(`starts at ${rounded} s, but the video ends at ${duration} s`);
      if (rounded > MAX_START_S) throw rejectChapter(`starts at ${rounded} s, the maximum is ${MAX_START_S} s`);
      if (text === "") throw rejectChapter("has no title");
      if (text.length > MAX_TITLE)
        throw rejectChapter(`has a title of ${text.length} characters, the maximum is ${MAX_TITLE}`);
      if (CONTROLS.test(text)) throw rejectChapter("has a title with a line break or another control character");
      return { start: rounded, title: text };
    })
    .sort((a, b) => a.start - b.start);
  const repeated = sorted.find(({ start }, index) => start === sorted[index - 1]?.start);
  if (repeated !== undefined) throw streamErrors.badChapters({ reason: `two chapters start at ${repeated.start} s` });
  return sorted;
}

/** Parses a WebVTT or SubRip file. Each cue becomes a chapter; end times are ignored. Throws badChapters. */
export function readChapters(file: Uint8Array): Chapter[] {
  const reading = readCaptions(file);
  if (!reading.ok) throw streamErrors.badChapters({ reason: reading.why });
  const { captions, skipped } = reading;
  if (skipped !== undefined)
    throw streamErrors.badChapters({ reason: `the cue on line ${skipped.line} cannot be parsed` });
  return captions.cues.map(({ start, text }) => ({ start: start / 1000, title: plainText(text) }));
}

/** Formats chapters as WebVTT. `duration` in seconds; -1 if it is unknown. */
export function formatChapters(chapters: readonly Chapter[], duration: number): string {
  const cues = chapters.map(({ start, title }, index) => {
    const next = chapters[index + 1]?.start ?? (duration > start ? duration : start + UNKNOWN_LENGTH_S);
    return { start: Math.round(start * 1000), end: Math.round(next * 1000), text: escapeCueText(title) };
  });
  return formatVtt({ cues, styles: [], regions: [] });
}
