// Octets of DNS data are kept in strings of U+0000 to U+00FF, one character for each: TXT may hold any of them.

/** The octets of a text in UTF-8. */
export const octetsOf = (text: string): string => (isAscii(text) ? text : Buffer.from(text, "utf8").toString("latin1"));

// oxlint-disable-next-line no-control-regex
const isAscii = (text: string) => /^[\0-\x7f]*$/.test(text);

/** A character-string as master files write it (RFC 1035 5.1): quoted, anything but printable ASCII as \DDD. */
export const quote = (octets: string): string =>
  `"${octets.replace(/["\\]/g, "\\$&").replace(/[^\x20-\x7e]/g, (octet) => `\\${String(octet.charCodeAt(0)).padStart(3, "0")}`)}"`;

/** Character-strings hold at most 255 octets (RFC 1035 3.3). An empty text is one empty string. */
export const chunk = (octets: string, size = 255): string[] => octets.match(new RegExp(`[^]{1,${size}}`, "g")) ?? [""];
