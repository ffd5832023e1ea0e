/** DER encoder for ASN.1 (X.690), limited to what certificates and signing requests need. */

export type Der = Buffer;

export const sequence = (...items: Der[]): Der => tagged(0x30, Buffer.concat(items));
export const set = (...items: Der[]): Der => tagged(0x31, Buffer.concat(items));
export const utf8 = (text: string): Der => tagged(0x0c, Buffer.from(text));
export const octets = (content: Uint8Array): Der => tagged(0x04, content);
/** Returns a bit string of whole octets. */
export const bits = (content: Uint8Array): Der => tagged(0x03, Buffer.concat([Buffer.of(0), content]));
/** Returns an unsigned number: a leading zero octet keeps it positive. */
export const integer = (bytes: Uint8Array): Der =>
  tagged(0x02, bytes[0]! & 0x80 ? Buffer.concat([Buffer.of(0), bytes]) : bytes);
export const booleanTrue: Der = Buffer.of(0x01, 1, 0xff);
/** `[number] EXPLICIT`, or IMPLICIT of a constructed type. */
export const context = (number: number, content: Uint8Array): Der => tagged(0xa0 | number, content);
/** `[number] IMPLICIT` of a primitive type. */
export const contextPrimitive = (number: number, content: Uint8Array): Der => tagged(0x80 | number, content);

/** UTCTime until 2049, then GeneralizedTime (RFC 5280 4.1.2.5). */
export function time(at: number): Der {
  const digits = new Date(at).toISOString().replace(/\..*|[-:T]/g, "");
  return digits < "2050" ? tagged(0x17, Buffer.from(`${digits.slice(2)}Z`)) : tagged(0x18, Buffer.from(`${digits}Z`));
}

/** "1.2.840.10045.4.3.2" */
export function oid(dotted: string): Der {
  const [first, second, ...rest] = dotted.split(".").map(Number);
  return tagged(0x06, Buffer.from([first! * 40 + second!, ...rest.flatMap(base128)]));
}

export function pem(label: string, der: Uint8Array): string {
  const lines = Buffer.from(der)
    .toString("base64")
    .match(/.{1,64}/g)!;
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}

function tagged(tag: number, content: Uint8Array): Der {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  const size = length < 0x100 ? Buffer.of(0x81, length) : Buffer.of(0x82, length >> 8, length & 0xff);
  if (length > 0xffff) throw new RangeError("the certificate exceeds 64 KiB");
  return Buffer.concat([Buffer.of(tag), size, content]);
}

function base128(number: number): number[] {
  const digits = [number & 0x7f];
  for (let rest = number >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}
