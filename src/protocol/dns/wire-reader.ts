/** What a message says is not what RFC 1035 4.1 allows. */
export class MalformedMessage extends Error {
  override readonly name = "MalformedMessage";
}

export interface Header {
  id: number;
  response: boolean;
  opcode: number;
  /** RFC 1035 4.1.1, as one number with all flags. */
  flags: number;
  rcode: number;
  counts: [questions: number, answers: number, authority: number, additional: number];
}

export const HEADER_OCTETS = 12;

/** Undefined when there is not even a header. */
export function readHeader(message: Buffer): Header | undefined {
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

/**
 * A name that is written out, as in questions: lower case, without the last dot, and every octet that no name of ours may have as
 * \DDD, so that a dot within a label is none between labels. Throws MalformedMessage, also for a compressed one.
 */
export function readPlainName(message: Buffer, offset: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = offset;
  for (;;) {
    const length = octet(message, at);
    if (length === 0) break;
    // RFC 1035 2.3.4: 255 octets with the lengths and the root.
    if (length > 63 || at + 1 + length - offset > 254) throw new MalformedMessage("a name is compressed or too long");
    if (at + 1 + length > message.length) throw new MalformedMessage("the message ends within a name");
    labels.push(labelText(message.toString("latin1", at + 1, at + 1 + length)));
    at += 1 + length;
  }
  return { name: labels.join("."), end: at + 1 };
}

const labelText = (label: string) => {
  const lower = label.toLowerCase();
  return /^[a-z0-9_*/-]*$/.test(lower)
    ? lower
    : asciiLower(label).replace(/[^a-z0-9_*/-]/g, (char) => `\\${String(char.charCodeAt(0)).padStart(3, "0")}`);
};

// String.toLowerCase also changes letters beyond ASCII, which DNS tells apart (RFC 4343 3).
const asciiLower = (text: string) => text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Where a name ends, compressed or not. */
export function skipName(message: Buffer, offset: number): number {
  for (let at = offset; ;) {
    const length = octet(message, at);
    if (length === 0) return at + 1;
    if (length >= 0xc0) {
      octet(message, at + 1);
      return at + 2;
    }
    if (length > 63) throw new MalformedMessage("a label of an unknown kind");
    at += 1 + length;
    if (at - offset > 255) throw new MalformedMessage("a name is too long");
  }
}

export interface RawRecord {
  /** Where its name begins. */
  start: number;
  nameEnd: number;
  type: number;
  class: number;
  ttl: number;
  data: Buffer;
  end: number;
}

export function readRecord(message: Buffer, start: number): RawRecord {
  const nameEnd = skipName(message, start);
  if (nameEnd + 10 > message.length) throw new MalformedMessage("the message ends within a record");
  const end = nameEnd + 10 + message.readUInt16BE(nameEnd + 8);
  if (end > message.length) throw new MalformedMessage("the message ends within the data of a record");
  return {
    start,
    nameEnd,
    type: message.readUInt16BE(nameEnd),
    class: message.readUInt16BE(nameEnd + 2),
    ttl: message.readUInt32BE(nameEnd + 4),
    data: message.subarray(nameEnd + 10, end),
    end,
  };
}

function octet(message: Buffer, at: number): number {
  if (at >= message.length) throw new MalformedMessage("the message ends within a name");
  return message[at]!;
}
