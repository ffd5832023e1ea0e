import { RtmpViolation } from "./violation.ts";

/**
 * Values of Action Message Format 0, as used in RTMP. Objects have no prototype, so "__proto__" is an ordinary name.
 */
export type AmfValue = number | boolean | string | null | undefined | Date | AmfObject | AmfValue[];
export interface AmfObject {
  [name: string]: AmfValue;
}

/** Type markers (AMF 0 specification, 2.1). */
const MARKER = {
  number: 0,
  boolean: 1,
  string: 2,
  object: 3,
  null: 5,
  undefined: 6,
  reference: 7,
  ecmaArray: 8,
  objectEnd: 9,
  strictArray: 10,
  date: 11,
  longString: 12,
  unsupported: 13,
  xml: 15,
  typedObject: 16,
} as const;
/** Maximum nesting depth of objects: clients send three or four levels. */
const MAX_DEPTH = 16;

/**
 * Reads all values in a message. Throws RtmpViolation if a value is truncated, nested too deeply, or encoded as AMF 3.
 */
export function readAmf0(bytes: Buffer): AmfValue[] {
  let at = 0;

  function skipOctets(octets: number): number {
    const from = at;
    if (from + octets > bytes.length) throw new RtmpViolation("truncated AMF0 value");
    at += octets;
    return from;
  }

  const text = (octets: number) => bytes.toString("utf8", skipOctets(octets), at);
  const readShortText = () => text(bytes.readUInt16BE(skipOctets(2)));

  function object(depth: number): AmfObject {
    const createdObject = Object.create(null) as AmfObject;
    for (;;) {
      const name = readShortText();
      if (name === "" && bytes[at] === MARKER.objectEnd) {
        at++;
        return createdObject;
      }
      createdObject[name] = value(depth + 1);
    }
  }

  function readArray(depth: number): AmfValue[] {
    const values: AmfValue[] = [];
    // Every value has at least one octet, so a false count ends when the bytes do.
    for (let remainingItems = bytes.readUInt32BE(skipOctets(4)); remainingItems > 0; remainingItems--)
      values.push(value(depth + 1));
    return values;
  }

  function value(depth: number): AmfValue {
    if (depth > MAX_DEPTH) throw new RtmpViolation(`AMF0 values are nested more than ${MAX_DEPTH} levels deep`);
    const marker = bytes[skipOctets(1)]!;
    switch (marker) {
      case MARKER.number:
        return bytes.readDoubleBE(skipOctets(8));
      case MARKER.boolean:
        return bytes[skipOctets(1)] !== 0;
      case MARKER.string:
        return readShortText();
      case MARKER.object:
        return object(depth);
      case MARKER.null:
        return null;
      case MARKER.undefined:
      case MARKER.unsupported:
        return undefined;
      case MARKER.reference:
        skipOctets(2);
        return undefined;
      case MARKER.ecmaArray:
        // The count is only a hint (2.10): the end is marked as for an object.
        skipOctets(4);
        return object(depth);
      case MARKER.strictArray:
        return readArray(depth);
      case MARKER.date: {
        const time = bytes.readDoubleBE(skipOctets(8));
        skipOctets(2);
        return new Date(time);
      }
      case MARKER.longString:
      case MARKER.xml:
        return text(bytes.readUInt32BE(skipOctets(4)));
      case MARKER.typedObject:
        readShortText();
        return object(depth);
      default:
        throw new RtmpViolation(`unknown AMF0 type marker ${marker}`);
    }
  }

  const values: AmfValue[] = [];
  while (at < bytes.length) values.push(value(0));
  return values;
}

/** Writes values in sequence. Undefined members of objects are written as undefined. */
export function writeAmf0(...values: AmfValue[]): Buffer {
  const parts: Buffer[] = [];

  function name(text: string) {
    const octets = Buffer.from(text);
    if (octets.length > 0xffff) throw new RangeError("a name has more than 65,535 octets");
    const length = Buffer.allocUnsafe(2);
    length.writeUInt16BE(octets.length);
    parts.push(length, octets);
  }

  function writeMembers(object: AmfObject) {
    for (const [key, member] of Object.entries(object)) {
      name(key);
      write(member);
    }
    parts.push(Buffer.from([0, 0, MARKER.objectEnd]));
  }

  function writeNumbered(marker: number, size: number, octets: 8 | 4): void {
    const bytes = Buffer.allocUnsafe(1 + octets);
    bytes[0] = marker;
    if (octets === 8) bytes.writeDoubleBE(size, 1);
    else bytes.writeUInt32BE(size, 1);
    parts.push(bytes);
  }

  function writeString(text: string) {
    const octets = Buffer.from(text);
    if (octets.length <= 0xffff) {
      parts.push(Buffer.from([MARKER.string]));
      name(text);
    } else {
      writeNumbered(MARKER.longString, octets.length, 4);
      parts.push(octets);
    }
  }

  function write(value: AmfValue): void {
    if (value === null) parts.push(Buffer.from([MARKER.null]));
    else if (value === undefined) parts.push(Buffer.from([MARKER.undefined]));
    else if (typeof value === "number") writeNumbered(MARKER.number, value, 8);
    else if (typeof value === "boolean") parts.push(Buffer.from([MARKER.boolean, Number(value)]));
    else if (typeof value === "string") writeString(value);
    else if (value instanceof Date) {
      writeNumbered(MARKER.date, value.getTime(), 8);
      parts.push(Buffer.alloc(2));
    } else if (Array.isArray(value)) {
      writeNumbered(MARKER.strictArray, value.length, 4);
      value.forEach(write);
    } else {
      parts.push(Buffer.from([MARKER.object]));
      writeMembers(value);
    }
  }

  values.forEach(write);
  return Buffer.concat(parts);
}

/** Returns a received object; undefined for any other value. */
export const amfObject = (value: AmfValue): AmfObject | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date) ? value : undefined;
