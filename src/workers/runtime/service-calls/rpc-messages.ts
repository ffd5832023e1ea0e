/**
 * The subset of the Cap'n Proto RPC protocol that is needed to count running calls:
 * https://github.com/capnproto/capnproto/blob/v2/c%2B%2B/src/capnp/rpc.capnp (struct Message),
 * https://capnproto.org/encoding.html (framing and pointers).
 */

const WORD = 8;
/** Discriminants of the union in Message. */
const CALL = 2;
const RETURN = 3;
const BOOTSTRAP = 8;
/** Cap'n Proto's own reader also rejects messages with more segments. */
const MAX_SEGMENTS = 512;

/** Reads one direction of a connection and reports each message that changes the number of running calls. */
export function createMessageReader(on: { call(): void; answer(): void }): (chunk: Buffer) => void {
  /** Start of the current message: its segment table and its first words. */
  let head: Buffer = Buffer.alloc(0);
  /** Bytes of the current message that remain to be skipped. */
  let skip = 0;
  let isInvalid = false;
  return (chunk) => {
    while (chunk.length > 0 && !isInvalid) {
      if (skip > 0) {
        const skipped = Math.min(skip, chunk.length);
        skip -= skipped;
        chunk = chunk.subarray(skipped);
        continue;
      }
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      const message = readHead(head);
      if (message === "invalid") return void (isInvalid = true);
      if (message === "incomplete") return void (head = Buffer.from(head));
      if (message.kind === CALL || message.kind === BOOTSTRAP) on.call();
      if (message.kind === RETURN) on.answer();
      chunk = head.subarray(Math.min(message.bytes, head.length));
      skip = Math.max(0, message.bytes - head.length);
      head = Buffer.alloc(0);
    }
  };
}

function readHead(head: Buffer): { kind: number; bytes: number } | "incomplete" | "invalid" {
  if (head.length < WORD) return "incomplete";
  const segments = head.readUInt32LE(0) + 1;
  if (segments > MAX_SEGMENTS) return "invalid";
  const tableBytes = Math.ceil((1 + segments) / 2) * WORD;
  if (head.length < tableBytes) return "incomplete";
  let words = 0;
  for (let i = 0; i < segments; i++) words += head.readUInt32LE(4 + 4 * i);
  const bytes = tableBytes + words * WORD;
  if (words < 2) return { kind: -1, bytes };
  if (head.length < tableBytes + WORD) return "incomplete";
  const pointer = head.readInt32LE(tableBytes);
  // The root is in another segment, which no implementation does for such small structs.
  if ((pointer & 3) !== 0) return { kind: -1, bytes };
  const data = tableBytes + WORD + (pointer >> 2) * WORD;
  if (data < tableBytes || data + 2 > tableBytes + head.readUInt32LE(4) * WORD) return { kind: -1, bytes };
  if (head.length < data + 2) return "incomplete";
  return { kind: head.readUInt16LE(data), bytes };
}

/** Builds an Abort message, which makes the caller's pending calls reject with an Error with this message. */
export function abortMessage(message: string): Buffer {
  // With this prefix, workerd passes the text to JavaScript instead of reporting an internal error.
  const text = Buffer.from(`jsg.Error: ${message.toWellFormed()}\0`);
  const size = 6 + Math.ceil(text.length / WORD);
  const bytes = Buffer.alloc(WORD + size * WORD);
  const structPointer = (at: number, data: number, pointers: number) => {
    bytes.writeUInt16LE(data, at + 4);
    bytes.writeUInt16LE(pointers, at + 6);
  };
  const word = (index: number) => (1 + index) * WORD;
  bytes.writeUInt32LE(size, 4);
  structPointer(word(0), 1, 1); // Message
  bytes.writeUInt16LE(1, word(1)); // with the discriminant of abort,
  structPointer(word(2), 1, 2); // an Exception of type `failed` (0),
  bytes.writeUInt32LE((1 << 2) | 1, word(4)); // and its reason: a list of bytes behind the next pointer.
  bytes.writeUInt32LE((text.length << 3) | 2, word(4) + 4);
  text.copy(bytes, word(6));
  return bytes;
}
