/** A file or segment violates ISO 14496-12 or uses an unsupported feature; the error message gives the reason. */
export class Mp4Error extends Error {
  override readonly name: string = "Mp4Error";
}

/** A box (ISO 14496-12, 4.2) within some bytes; its content is in [body, end). */
export interface Box {
  type: string;
  start: number;
  body: number;
  end: number;
}

/** Maximum number of sibling boxes: real files have a few dozen, and hostile ones must be cheap to process. */
const MAX_BOXES = 4096;

/** Reads the box header at `at`; the container ends at `limit`. `end` may exceed the available bytes. */
export function boxAt(bytes: Buffer, at: number, limit: number): Box {
  if (at + 8 > limit || at + 8 > bytes.length) throw new Mp4Error("truncated box header");
  const type = bytes.toString("latin1", at + 4, at + 8);
  const shortSize = bytes.readUInt32BE(at);
  const body = at + (shortSize === 1 ? 16 : 8);
  if (body > limit || body > bytes.length) throw new Mp4Error(`truncated header of box ${toPrintable(type)}`);
  // Size 0 means that the box extends to the end of the container; size 1 means that 64 bits follow the type.
  const size = shortSize === 1 ? Number(bytes.readBigUInt64BE(at + 8)) : shortSize === 0 ? limit - at : shortSize;
  if (size < body - at || at + size > limit)
    throw new Mp4Error(`box ${toPrintable(type)} has the size ${size}, but only ${limit - at} octets remain`);
  return { type, start: at, body, end: at + size };
}

/** Returns the boxes in [from, to), in order. */
export function boxesIn(bytes: Buffer, from: number, to: number): Box[] {
  const boxes: Box[] = [];
  // Some QuickTime writers end a list of boxes with 32 zero bits.
  for (let at = from; at + 8 <= to;) {
    if (boxes.length >= MAX_BOXES) throw new Mp4Error(`a container has more than ${MAX_BOXES} boxes`);
    const box = boxAt(bytes, at, to);
    boxes.push(box);
    at = box.end;
  }
  return boxes;
}

/** Returns the first box of this type inside another one. */
export const findBox = (bytes: Buffer, { body, end }: Pick<Box, "body" | "end">, type: string): Box | undefined =>
  boxesIn(bytes, body, end).find((box) => box.type === type);

export function requireBox(bytes: Buffer, parent: Pick<Box, "body" | "end">, type: string): Box {
  const box = findBox(bytes, parent, type);
  if (box === undefined) throw new Mp4Error(`there is no box ${type}`);
  return box;
}

/** Follows a path of box types. */
export const requirePath = (bytes: Buffer, parent: Pick<Box, "body" | "end">, ...types: string[]): Box =>
  types.reduce<Pick<Box, "body" | "end">>((box, type) => requireBox(bytes, box, type), parent) as Box;

/**
 * Returns the version and flags of a full box (4.2) and the offset after them, where at least `requiredBytes` octets
 * must follow.
 */
export function readFullBox(
  bytes: Buffer,
  box: Box,
  requiredBytes = 0,
): { version: number; flags: number; at: number } {
  if (box.end - box.body < 4 + requiredBytes) throw new Mp4Error(`box ${toPrintable(box.type)} is too short`);
  return { version: bytes[box.body]!, flags: bytes.readUIntBE(box.body + 1, 3), at: box.body + 4 };
}

/** Reads a full box containing a count and that many entries of `width` octets, all of which must fit in the box. */
export function entriesOf(
  bytes: Buffer,
  box: Box,
  width: number,
  header = 0,
): { version: number; count: number; at: number } {
  const { version, at } = readFullBox(bytes, box, header + 4);
  const count = bytes.readUInt32BE(at + header);
  const first = at + header + 4;
  if (count * width > box.end - first)
    throw new Mp4Error(
      `box ${toPrintable(box.type)} declares ${count} entries but has room for only ${Math.floor((box.end - first) / width)}`,
    );
  return { version, count, at: first };
}

const toPrintable = (type: string) => (/^[\x20-\x7e]{4}$/.test(type) ? type : JSON.stringify(type));
