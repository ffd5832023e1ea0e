import { DnsSyntaxError } from "./syntax-error.ts";
import { splitWords } from "./tokens.ts";

/**
 * Returns the text of a TXT record's content: its strings joined without spaces (RFC 7208 3.3). Content that cannot be
 * parsed is returned unchanged.
 */
export function txtText(content: string): string {
  try {
    return splitWords(content)
      .map(({ text }) => text)
      .join("");
  } catch (err) {
    if (err instanceof DnsSyntaxError) return content;
    throw err;
  }
}
