// Octets of DNS data are stored in strings of U+0000 to U+00FF, one character each: TXT may hold any octet.

/** Returns the UTF-8 octets of a text. */
export const octetsOf = (text: string): string => (isAscii(text) ? text : Buffer.from(text, "utf8").toString("latin1"));

// oxlint-disable-next-line no-control-regex
const isAscii = (text: string) => /^[\0-\x7f]*$/.test(text);

/**
 * Formats a character-string in master file syntax (RFC 1035 5.1): quoted, with everything except printable ASCII as
 * \DDD.
 */
export const quote = (octets: string): string =>
  `"${octets.replace(/["\\]/g, "\\$&").replace(/[^\x20-\x7e]/g, (octet) => `\\${String(octet.charCodeAt(0)).padStart(3, "0")}`)}"`;

/** Splits octets into character-strings of at most 255 octets (RFC 1035 3.3). An empty text yields one empty string. */
export const chunk = (octets: string, size = 255): string[] => octets.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [""];
