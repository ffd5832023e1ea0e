import { DnsSyntaxError } from "./syntax-error.ts";
import { words } from "./tokens.ts";

/**
 * Returns the text of a TXT record's content: its strings joined without spaces (RFC 7208 3.3). Content that cannot be
 * parsed is returned unchanged.
 */
export function txtText(content: string): string {
  try {
    return words(content)
      .map(({ text }) => text)
      .join("");
  } catch (err) {
    if (err instanceof DnsSyntaxError) return content;
    throw err;
  }
}
