/** Message identifiers (RFC 5322 3.6.4) are stored with their angle brackets and compared octet for octet. */

/**
 * Returns every `<...>` in a References or In-Reply-To value, in order. RFC 5322 4.5.4 allows phrases between them,
 * which are skipped. Uses a single pass; stops at an unclosed bracket.
 */
export function parseMessageIds(value: string): string[] {
  const ids: string[] = [];
  for (let at = value.indexOf("<"); at !== -1;) {
    const end = value.indexOf(">", at);
    if (end === -1) break;
    // After stray "<" characters, the identifier begins at the last one.
    const start = value.lastIndexOf("<", end);
    const inner = value.slice(start + 1, end).replace(/[ \t]/g, "");
    if (inner !== "" && !hasControl(inner)) ids.push(`<${inner}>`);
    at = value.indexOf("<", end);
  }
  return ids;
}

/**
 * Returns the identifier of a Message-ID value, or undefined if there is none. Old software omits the brackets; a
 * single word is accepted as an identifier.
 */
export function parseMessageId(value: string): string | undefined {
  const [id] = parseMessageIds(value);
  if (id !== undefined) return id;
  const word = value.trim();
  return word !== "" && !/[\s<>]/.test(word) && !hasControl(word) ? `<${word}>` : undefined;
}

const hasControl = (text: string) => /\p{Cc}/u.test(text);
