const WORD = /=\?([\w-]{1,40})(?:\*[\w-]*)?\?([bq])\?([!->@-~]*)\?=/gi;
/** White space between two of them is only there to fold the line (RFC 2047 6.2). */
const BETWEEN =
  /(=\?[\w-]{1,40}(?:\*[\w-]*)?\?[bq]\?[!->@-~]*\?=)[ \t\r\n]+(?==\?[\w-]{1,40}(?:\*[\w-]*)?\?[bq]\?[!->@-~]*\?=)/gi;

/** A header text as people read it (RFC 2047). What is no encoded word, or in no charset that is known, stays as it is. */
export function decodeWords(text: unknown): unknown {
  if (typeof text !== "string" || !text.includes("=?")) return text;
  return text
    .slice(0, 4000)
    .replace(BETWEEN, "$1")
    .replace(WORD, (word, charset: string, encoding: string, content: string) => {
      try {
        const bytes = encoding.toLowerCase() === "b" ? Buffer.from(content, "base64") : quoted(content);
        return new TextDecoder(charset).decode(bytes);
      } catch {
        return word;
      }
    });
}

const quoted = (content: string): Buffer =>
  Buffer.from(
    content
      .replaceAll("_", " ")
      .replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    "latin1",
  );
