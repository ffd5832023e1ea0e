const WORD = /=\?([\w-]{1,40})(?:\*[\w-]*)?\?([bq])\?([!->@-~]*)\?=/gi;
/** White space between two encoded words only folds the line (RFC 2047 6.2). */
const WORD_SEPARATOR =
  /(=\?[\w-]{1,40}(?:\*[\w-]*)?\?[bq]\?[!->@-~]*\?=)[ \t\r\n]+(?==\?[\w-]{1,40}(?:\*[\w-]*)?\?[bq]\?[!->@-~]*\?=)/gi;

/** Decodes a header text (RFC 2047). Text that is not an encoded word, or has an unknown charset, stays unchanged. */
export function decodeWords(text: unknown): unknown {
  if (typeof text !== "string" || !text.includes("=?")) return text;
  return text
    .slice(0, 4000)
    .replace(WORD_SEPARATOR, "$1")
    .replace(WORD, (word, charset: string, encoding: string, content: string) => {
      try {
        const bytes = encoding.toLowerCase() === "b" ? Buffer.from(content, "base64") : decodeQuotedPrintable(content);
        return new TextDecoder(charset).decode(bytes);
      } catch {
        return word;
      }
    });
}

const decodeQuotedPrintable = (content: string): Buffer =>
  Buffer.from(
    content
      .replaceAll("_", " ")
      .replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
