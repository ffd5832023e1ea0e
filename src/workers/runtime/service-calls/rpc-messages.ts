/**
 * The subset of the Cap'n Proto RPC protocol that is needed to count running calls and to notice failed ones:
 * https://github.com/capnproto/capnproto/blob/v2/c%2B%2B/src/capnp/rpc.capnp (structs Message, Return, Resolve),
 * https://capnproto.org/encoding.html (framing and pointers).
 */

const WORD = 8;
/** Discriminants of the union in Message. */
const CALL = 2;
const RETURN = 3;
const RESOLVE = 5;
const BOOTSTRAP = 8;
/** Byte offsets of the unions in Return and Resolve, and the discriminants of their `exception` fields. */
const RETURN_UNION = 6;
const RETURN_EXCEPTION = 1;
const RESOLVE_UNION = 4;
const RESOLVE_EXCEPTION = 1;
/** Returns and Resolves have their few fixed fields at the start of the message. */
const MAX_HEAD_BYTES = 1024;
/** Cap'n Proto's own reader also rejects messages with more segments. */
const MAX_SEGMENTS = 512;

interface MessageHandler {
  /** A call or a request for the bootstrap interface. */
  call?(): void;
  answer?(outcome: { isException: boolean }): void;
  /** A capability promised earlier turned out to be broken: workerd sends this when it aborts an RPC session. */
  broken?(): void;
}

/** Reads one direction of a connection and reports the messages that `on` handles. */
export function createRpcMessageReader(on: MessageHandler): (chunk: Buffer) => void {
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
      if (message.kind === CALL || message.kind === BOOTSTRAP) on.call?.();
      if (message.kind === RETURN) on.answer?.({ isException: message.unionAt(RETURN_UNION) === RETURN_EXCEPTION });
      if (message.kind === RESOLVE && message.unionAt(RESOLVE_UNION) === RESOLVE_EXCEPTION) on.broken?.();
      chunk = head.subarray(Math.min(message.bytes, head.length));
      skip = Math.max(0, message.bytes - head.length);
      head = Buffer.alloc(0);
    }
  };
}

interface MessageHead {
  kind: number;
  bytes: number;
  /** Reads a discriminant in the struct to which the message's union points; undefined if it is in another segment. */
  unionAt(offset: number): number | undefined;
}

const noUnion = () => undefined;

function readHead(head: Buffer): MessageHead | "incomplete" | "invalid" {
  if (head.length < WORD) return "incomplete";
  const segments = head.readUInt32LE(0) + 1;
  if (segments > MAX_SEGMENTS) return "invalid";
  const tableBytes = Math.ceil((1 + segments) / 2) * WORD;
  if (head.length < tableBytes) return "incomplete";
  let words = 0;
  for (let i = 0; i < segments; i++) words += head.readUInt32LE(4 + 4 * i);
  const bytes = tableBytes + words * WORD;
  if (words < 2) return { kind: -1, bytes, unionAt: noUnion };
  if (head.length < tableBytes + WORD) return "incomplete";
  const pointer = head.readInt32LE(tableBytes);
  // The root is in another segment; no implementation does this for such small structs.
  if ((pointer & 3) !== 0) return { kind: -1, bytes, unionAt: noUnion };
  const data = tableBytes + WORD + (pointer >> 2) * WORD;
  const segmentEnd = tableBytes + head.readUInt32LE(4) * WORD;
  if (data < tableBytes || data + 2 > segmentEnd) return { kind: -1, bytes, unionAt: noUnion };
  if (head.length < data + 2) return "incomplete";
  const kind = head.readUInt16LE(data);
  if ((kind === RETURN || kind === RESOLVE) && head.length < Math.min(bytes, MAX_HEAD_BYTES)) return "incomplete";
  const bodyPointer = data + head.readUInt16LE(tableBytes + 4) * WORD;
  const unionAt = (offset: number) => {
    const end = Math.min(segmentEnd, head.length);
    if (head.readUInt16LE(tableBytes + 6) === 0 || bodyPointer + WORD > end) return undefined;
    const body = head.readInt32LE(bodyPointer);
    const at = bodyPointer + WORD + (body >> 2) * WORD + offset;
    return (body & 3) !== 0 || at < tableBytes || at + 2 > end ? undefined : head.readUInt16LE(at);
  };
  return { kind, bytes, unionAt };
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
