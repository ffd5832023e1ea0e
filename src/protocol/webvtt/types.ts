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

/** More than one cue per second for ten hours. A larger file is not intended to be read. */
export const MAX_CUES = 50_000;
/** Maximum length of the text in a cue. */
export const MAX_CUE_TEXT = 10_000;
