const CHARACTERS: Record<string, string> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&nbsp;": "\u00a0",
  "&lrm;": "\u200e",
  "&rlm;": "\u200f",
};

/** Returns the text of a cue as one line without tags or escapes (WebVTT 6.4). */
export const plainText = (cueText: string): string =>
  cueText
    .replaceAll(/<[^<>]*>/g, "")
    .replaceAll(/&(?:amp|lt|gt|nbsp|lrm|rlm);/g, (escape) => CHARACTERS[escape]!)
    .replaceAll(/\s+/g, " ")
    .trim();

/** Converts plain text to cue text: escaped, on one line. It cannot end its cue. */
export const escapeCueText = (text: string): string =>
  text
    .replaceAll(/\s+/g, " ")
    .replaceAll(/[&<>]/g, (character) => (character === "&" ? "&amp;" : character === "<" ? "&lt;" : "&gt;"));
