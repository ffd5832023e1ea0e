/** Text that is shown beside a video, at times of it. */
export interface Captions {
  /** By their beginning. */
  cues: Cue[];
  /** CSS, one entry for each STYLE block. */
  styles: string[];
  /** Settings, one entry for each REGION block. */
  regions: string[];
}

export interface Cue {
  id?: string;
  /** Milliseconds; the end is behind the start. */
  start: number;
  end: number;
  /** "line:0 align:start". */
  settings?: string;
  /** Lines of cue text (WebVTT 4.2.2), none of them empty: escaped, and with tags that WebVTT knows. */
  text: string;
}

/** `skipped`: how many cues could not be read, and in which line the first of them begins. */
export type CaptionsReading =
  | { ok: true; captions: Captions; skipped: { count: number; line: number } | undefined }
  | { ok: false; why: string };

/** Ten hours of a cue a second, and some. A file with more is none that somebody means to be read. */
export const MAX_CUES = 50_000;
/** Of one cue. */
export const MAX_CUE_TEXT = 10_000;
