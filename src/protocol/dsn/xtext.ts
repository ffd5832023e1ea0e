/**
 * Encodes text for an ESMTP parameter (RFC 3461 4): printable ASCII is unchanged, but "+", "=" and everything else
 * become "+" and two upper-case hex digits.
 */
export const encodeXtext = (text: string): string =>
  [...Buffer.from(text)]
    .map((byte) =>
      byte > 0x20 && byte < 0x7f && byte !== 0x2b && byte !== 0x3d ? String.fromCharCode(byte) : hex(byte),
    )
    .join("");

const hex = (byte: number) => `+${byte.toString(16).toUpperCase().padStart(2, "0")}`;

/** Decodes xtext. Undefined if the text is not valid xtext. */
export function decodeXtext(text: string): string | undefined {
  if (!/^(?:[\x21-\x2a\x2c-\x3c\x3e-\x7e]|\+[0-9A-F]{2})*$/.test(text)) return undefined;
  return Buffer.from(
    text.replace(/\+([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16))),
    "latin1",
  ).toString("utf8");
}

/** Encodes a non-ASCII address where only ASCII is allowed (RFC 6533 3): `\x{E4}` represents the letter. */
export const encodeUtf8Address = (address: string): string =>
  [...address]
    .map((char) =>
      /^[\x21-\x7e]$/.test(char) && !"\\+=".includes(char)
        ? char
        : `\\x{${char.codePointAt(0)!.toString(16).toUpperCase()}}`,
    )
    .join("");

export const decodeUtf8Address = (text: string): string =>
  text.replace(/\\x\{([0-9A-Fa-f]{1,6})\}/g, (wholeMatch, code: string) => {
    const codePoint = Number.parseInt(code, 16);
    return codePoint <= 0x10_ffff && (codePoint < 0xd800 || codePoint > 0xdfff)
      ? String.fromCodePoint(codePoint)
      : wholeMatch;
  });
