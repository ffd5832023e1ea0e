import { MAX_CUE_TEXT } from "./types.ts";

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
  const plain = text.replaceAll(CONTROLS, "");
  let out = "";
  PIECES.lastIndex = 0;
  for (let piece = PIECES.exec(plain); piece !== null; piece = PIECES.exec(plain)) {
    const [whole, tag] = piece;
    if (tag !== undefined) {
      out += tagText(tag);
    } else if (whole === "&") {
      ENTITY.lastIndex = piece.index;
      out += ENTITY.test(plain) ? "&" : "&amp;";
    } else {
      out += whole === "<" ? "&lt;" : whole === ">" ? "&gt;" : whole;
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
