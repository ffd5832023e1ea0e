/** The octets are not a valid message (RFC 1035 4.1). */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

export interface Header {
  id: number;
  response: boolean;
  opcode: number;
  /** RFC 1035 4.1.1: all flags as one number. */
  flags: number;
  rcode: number;
  counts: [questions: number, answers: number, authority: number, additional: number];
}

export const HEADER_OCTETS = 12;

/** Reads the header of a message. Undefined if the message is shorter than a header. */
export function readDnsHeader(message: Buffer): Header | undefined {
  if (message.length < HEADER_OCTETS) return undefined;
  const flags = message.readUInt16BE(2);
  return {
    id: message.readUInt16BE(0),
    flags,
    response: (flags & 0x8000) !== 0,
    opcode: (flags >> 11) & 15,
    rcode: flags & 15,
    counts: [message.readUInt16BE(4), message.readUInt16BE(6), message.readUInt16BE(8), message.readUInt16BE(10)],
  };
}

interface WireName {
  /**
   * Name in lower case, without the final dot; the root is "". Octets that are not printable ASCII, dots inside a
   * label, and backslashes are \DDD (RFC 1035 5.1), so that each name has a unique spelling.
   */
  name: string;
  end: number;
}

/** Reads a name without compression, as in the question of a query or the data of TSIG. Throws MalformedMessage. */
export const readUncompressedName = (message: Buffer, offset: number): WireName => followName(message, offset, 0);

/** Reads a name that may be compressed (RFC 1035 4.1.4). Throws MalformedMessage. */
export const readName = (message: Buffer, offset: number): WireName => followName(message, offset, MAX_POINTERS);

/** Sufficient for the longest name with a pointer before each label. */
const MAX_POINTERS = 127;

function followName(message: Buffer, offset: number, maxPointers: number): WireName {
  const labels: string[] = [];
  // RFC 1035 2.3.4: 255 octets including length octets and the root.
  let remainingOctets = 254;
  let pointerCount = 0;
  let end: number | undefined;
  for (let at = offset, start = offset; ;) {
    const length = octetAt(message, at);
    if (length === 0) return { name: labels.join("."), end: end ?? at + 1 };
    if (length >= 0xc0) {
      const target = ((length & 0x3f) << 8) | octetAt(message, at + 1);
      if (++pointerCount > maxPointers) throw new MalformedMessage("a name has too many compression pointers");
      // Each pointer must refer to an offset before the labels that preceded it, so names cannot loop.
      if (target >= start || target < HEADER_OCTETS)
        throw new MalformedMessage("a compression pointer does not point to an earlier name");
      end ??= at + 2;
      at = start = target;
      continue;
    }
    if (length > 63) throw new MalformedMessage("a label has an unknown type");
    remainingOctets -= 1 + length;
    if (remainingOctets < 0) throw new MalformedMessage("a name is longer than 255 octets");
    if (at + 1 + length > message.length) throw new MalformedMessage("the message ends within a name");
    labels.push(labelText(message.toString("latin1", at + 1, at + 1 + length)));
    at += 1 + length;
  }
}

// String.toLowerCase also changes non-ASCII letters, which are distinct in DNS (RFC 4343 3).
const labelText = (label: string) =>
  PLAIN_LABEL.test(label)
    ? label
    : label.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).replace(UNPRINTABLE, escapeChar);
const PLAIN_LABEL = /^[a-z0-9_*/-]*$/;
const UNPRINTABLE = /[^\x21-\x7e]|[.\\]/g;
const escapeChar = (char: string) => `\\${String(char.charCodeAt(0)).padStart(3, "0")}`;

export interface RawRecord {
  /** See WireName. */
  name: string;
  /** Offset of the record's name. */
  start: number;
  type: number;
  class: number;
  /** Seconds. */
  ttl: number;
  data: Buffer;
  end: number;
}

/** Reads one record. Throws MalformedMessage. */
export function readRecord(message: Buffer, start: number): RawRecord {
  const { name, end: nameEnd } = readName(message, start);
  if (nameEnd + 10 > message.length) throw new MalformedMessage("the message ends within a record");
  const end = nameEnd + 10 + message.readUInt16BE(nameEnd + 8);
  if (end > message.length) throw new MalformedMessage("the message ends within the data of a record");
  return {
    name,
    start,
    type: message.readUInt16BE(nameEnd),
    class: message.readUInt16BE(nameEnd + 2),
    ttl: message.readUInt32BE(nameEnd + 4),
    data: message.subarray(nameEnd + 10, end),
    end,
  };
}

function octetAt(message: Buffer, at: number): number {
  if (at >= message.length) throw new MalformedMessage("the message ends within a name");
  return message[at]!;
}
