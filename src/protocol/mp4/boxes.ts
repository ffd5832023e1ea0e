/** A file or segment is not what ISO 14496-12 says, or holds something that is not handled; the message says what. */
export class Mp4Error extends Error {
  override readonly name: string = "Mp4Error";
}

/** One box (ISO 14496-12, 4.2) inside some bytes: what it holds lies in [body, end). */
export interface Box {
  type: string;
  start: number;
  body: number;
  end: number;
}

/** Boxes side by side in one container: real files have some dozens at most, and hostile ones must not cost more than they weigh. */
const MOST_BOXES = 4096;

/** The header of a box at `at`, of which `limit` ends the container. `end` may lie beyond the bytes at hand. */
export function boxAt(bytes: Buffer, at: number, limit: number): Box {
  if (at + 8 > limit || at + 8 > bytes.length) throw new Mp4Error("a box is cut off in its header");
  const type = bytes.toString("latin1", at + 4, at + 8);
  const short = bytes.readUInt32BE(at);
  const body = at + (short === 1 ? 16 : 8);
  if (body > limit || body > bytes.length) throw new Mp4Error(`box ${printable(type)} is cut off in its header`);
  // Size 0 goes on to the end of what it lies in; size 1 stands for 64 bits after the type.
  const size = short === 1 ? Number(bytes.readBigUInt64BE(at + 8)) : short === 0 ? limit - at : short;
  if (size < body - at || at + size > limit)
    throw new Mp4Error(`box ${printable(type)} has a size of ${size} where ${limit - at} octets are left`);
  return { type, start: at, body, end: at + size };
}

/** The boxes in [from, to), in order. */
export function boxesIn(bytes: Buffer, from: number, to: number): Box[] {
  const boxes: Box[] = [];
  // Some writers of QuickTime files end a list of boxes with 32 bits of zero.
  for (let at = from; at + 8 <= to;) {
    if (boxes.length >= MOST_BOXES) throw new Mp4Error(`there are more than ${MOST_BOXES} boxes in one place`);
    const box = boxAt(bytes, at, to);
    boxes.push(box);
    at = box.end;
  }
  return boxes;
}

/** The first box of this type inside another one. */
export const findBox = (bytes: Buffer, { body, end }: Pick<Box, "body" | "end">, type: string): Box | undefined =>
  boxesIn(bytes, body, end).find((box) => box.type === type);

export function needBox(bytes: Buffer, inside: Pick<Box, "body" | "end">, type: string): Box {
  const box = findBox(bytes, inside, type);
  if (box === undefined) throw new Mp4Error(`there is no box ${type}`);
  return box;
}

/** Walks along a path of types. */
export const needPath = (bytes: Buffer, inside: Pick<Box, "body" | "end">, ...types: string[]): Box =>
  types.reduce<Pick<Box, "body" | "end">>((box, type) => needBox(bytes, box, type), inside) as Box;

/** Version, flags and the place after them of a full box (4.2); `needs` octets must follow. */
export function fullBox(bytes: Buffer, box: Box, needs = 0): { version: number; flags: number; at: number } {
  if (box.end - box.body < 4 + needs) throw new Mp4Error(`box ${printable(box.type)} is too short`);
  return { version: bytes[box.body]!, flags: bytes.readUIntBE(box.body + 1, 3), at: box.body + 4 };
}

/** A full box that is a count and so many entries of `width` octets: none may lie outside of it. */
export function entriesOf(
  bytes: Buffer,
  box: Box,
  width: number,
  header = 0,
): { version: number; count: number; at: number } {
  const { version, at } = fullBox(bytes, box, header + 4);
  const count = bytes.readUInt32BE(at + header);
  const first = at + header + 4;
  if (count * width > box.end - first)
    throw new Mp4Error(
      `box ${printable(box.type)} announces ${count} entries and has room for ${Math.floor((box.end - first) / width)}`,
    );
  return { version, count, at: first };
}

const printable = (type: string) => (/^[\x20-\x7e]{4}$/.test(type) ? type : JSON.stringify(type));
