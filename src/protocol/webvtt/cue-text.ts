import { MAX_CUE_TEXT } from "./types.ts";

/** A tag, or what could be one: up to the first sign that ends it, or begins another. */
const PIECES = /<(\/?[a-z0-9][^<>\n]{0,500})>|[<>&]|[^<>&]+/giy;
const TAG = /^(?:\/(?:c|i|b|u|v|lang|ruby|rt)|(?:c|i|b|u|v|lang|ruby|rt)(?:\.[^\s.&<>]{1,100}){0,10}(?:[ \t][^\n]*)?)$/;
const TIMESTAMP = /^(?:\d{2,6}:)?[0-5]\d:[0-5]\d\.\d{3}$/;
const ENTITY = /&(?:[a-z][a-z0-9]{1,31}|#\d{1,7}|#x[0-9a-f]{1,6});/giy;
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f]/g;

/**
 * Cue text as every player reads it alike: tags that WebVTT knows stay, others go and leave what is between them, and what only looks like
 * one is text. Nothing comes out that could end the cue it is put into. Done again it changes nothing. Undefined: it became too long on the way.
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

/** "-->" ends a cue wherever it stands, also where an annotation makes it. */
function tagText(tag: string): string {
  const trimmed = tag.replace(/[\s-]+$/, "");
  return TAG.test(trimmed) || TIMESTAMP.test(trimmed) ? `<${trimmed}>` : "";
}
