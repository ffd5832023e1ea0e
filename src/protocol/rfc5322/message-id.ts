/** Message identifiers (RFC 5322 3.6.4). Kept with their angle brackets, compared octet by octet. */

/**
 * Every `<...>` of a References or In-Reply-To value, in order. Phrases between them are allowed by RFC 5322 4.5.4 and skipped.
 * One pass; an unclosed bracket ends it.
 */
export function parseMessageIds(value: string): string[] {
  const ids: string[] = [];
  for (let at = value.indexOf("<"); at !== -1;) {
    const end = value.indexOf(">", at);
    if (end === -1) break;
    // A stray "<" before the real one: the identifier begins at the last of them.
    const start = value.lastIndexOf("<", end);
    const inner = value.slice(start + 1, end).replace(/[ \t]/g, "");
    if (inner !== "" && !hasControl(inner)) ids.push(`<${inner}>`);
    at = value.indexOf("<", end);
  }
  return ids;
}

/**
 * The identifier in a Message-ID value, or undefined when there is none. Old software leaves the brackets away; a single word is taken
 * as the identifier it means to be.
 */
export function parseMessageId(value: string): string | undefined {
  const [id] = parseMessageIds(value);
  if (id !== undefined) return id;
  const word = value.trim();
  return word !== "" && !/[\s<>]/.test(word) && !hasControl(word) ? `<${word}>` : undefined;
}

const hasControl = (text: string) => /\p{Cc}/u.test(text);
