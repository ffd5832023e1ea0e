/**
 * Output as a list of buffers that are not concatenated until needed, since an index may occupy dozens of megabytes.
 */
export interface BufferList {
  size: number;
  pieces: Uint8Array[];
}

/** Returns a box with these contents. */
export function box(type: string, ...children: (Uint8Array | BufferList)[]): BufferList {
  const pieces = children.flatMap((part) => ("pieces" in part ? part.pieces : [part]));
  const size = pieces.reduce((sum, { length }) => sum + length, 8);
  return { size, pieces: [Buffer.concat([u32(size), ascii(type)]), ...pieces] };
}

export const fullBox = (
  type: string,
  version: number,
  flags: number,
  ...children: (Uint8Array | BufferList)[]
): BufferList => box(type, u32(version * 0x100_0000 + flags), ...children);

export const flat = (...parts: BufferList[]): Buffer => Buffer.concat(parts.flatMap(({ pieces }) => pieces));

/** Encodes 32-bit numbers, negative ones in two's complement. */
export function u32(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 4);
  for (const [i, number] of numbers.entries()) bytes.writeInt32BE(number | 0, i * 4);
  return bytes;
}

export function u64(number: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(number));
  return bytes;
}

export function u16(...numbers: number[]): Buffer {
  const bytes = Buffer.alloc(numbers.length * 2);
  for (const [i, number] of numbers.entries()) bytes.writeUInt16BE(number, i * 2);
  return bytes;
}

export const ascii = (text: string): Buffer => Buffer.from(text, "latin1");
export const zeros = (count: number): Buffer => Buffer.alloc(count);

/** Header of an mdat box with `size` octets of content, using a 64-bit size if 32 bits do not suffice. */
export function mediaHeader(size: number): Buffer {
  return size + 8 < 0x1_0000_0000
    ? Buffer.concat([u32(size + 8), ascii("mdat")])
    : Buffer.concat([u32(1), ascii("mdat"), u64(size + 16)]);
}

export const fileType = (major: string, minor: number, ...compatibleBrands: string[]): BufferList =>
  box("ftyp", ascii(major), u32(minor), ...compatibleBrands.map(ascii));
