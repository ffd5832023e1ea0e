/** A reply of a server (RFC 5321 4.2). */
export interface Reply {
  code: number;
  /** RFC 3463 code; undefined for the greeting and the replies to EHLO and HELO (RFC 2034 4), and for 3yz. */
  enhanced?: string | undefined;
  /** More than one line only in the reply to EHLO. */
  text: string | readonly string[];
}

/** RFC 5321 4.5.3.1.5: 512 octets, including the code, a space and CR LF. */
const MAX_TEXT_OCTETS = 506;

/**
 * Formats the reply with its line endings. Control characters become spaces, because a text must not start a second
 * reply.
 */
export function formatReply({ code, enhanced, text }: Reply): string {
  const prefix = enhanced === undefined ? "" : `${enhanced} `;
  if (typeof text === "string") return `${code} ${limitText(prefix + text)}\r\n`;
  const last = text.length - 1;
  return text.map((line, index) => `${code}${index < last ? "-" : " "}${limitText(prefix + line)}\r\n`).join("");
}

function limitText(text: string): string {
  const line = text.replace(/\p{Cc}/gu, " ");
  // Only long texts need counting: a UTF-16 unit has at most three octets in UTF-8.
  if (line.length * 3 <= MAX_TEXT_OCTETS) return line;
  const octets = Buffer.from(line);
  if (octets.length <= MAX_TEXT_OCTETS) return line;
  // The cut must not be inside a UTF-8 sequence.
  let end = MAX_TEXT_OCTETS - 3;
  while (end > 0 && (octets[end]! & 0xc0) === 0x80) end--;
  return `${octets.toString("utf8", 0, end)}...`;
}
