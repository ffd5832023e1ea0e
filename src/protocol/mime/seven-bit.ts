import { isAscii } from "node:buffer";
import { fieldRanges, headerValue } from "../rfc5322/index.ts";
import { createMimeScanner, MimeLimitError, type Entity, type MimeEvents } from "./scanner.ts";
import { createBase64, createQuotedPrintable, type TransferEncoder } from "./transfer-encoding.ts";

/**
 * Converts an 8-bit message to 7 bits for a server without 8BITMIME (RFC 6152 3): leaves with non-ASCII octets are
 * encoded, everything else is unchanged. The message is streamed twice, the first time to create this plan.
 */
interface SevenBitPlan {
  /** Indexed by entity. */
  actions: Action[];
  /** Charset to declare for a message that is not MIME. */
  charset: string;
}

/** `relabel`: the content is ASCII, but its Content-Transfer-Encoding declares 8bit or binary. */
type Action = "keep" | "relabel" | "quoted-printable" | "base64";

/** The reason why a message cannot be converted. */
interface NotEncodable {
  why: string;
}

type Chunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** Creates the plan. `header`: the header section without the empty line. `body`: the rest, starting with that line. */
export async function planSevenBit(header: Uint8Array, body: Chunks): Promise<SevenBitPlan | NotEncodable> {
  const actions: Action[] = [];
  const utf8 = new TextDecoder("utf-8", { fatal: true });
  let isUtf8 = true;
  let current: Entity | undefined;
  let eightBit = false;
  /** A multipart whose first part has not started. Its preamble is not displayed, unless no part follows. */
  let preamble: { depth: number; eightBit: boolean } | undefined;

  function endPreamble(depth: number) {
    if (preamble?.eightBit === true && depth <= preamble.depth)
      throw new Unencodable("a multipart with 8-bit data contains no part: its boundary does not occur");
    preamble = undefined;
  }

  function finishEntity() {
    if (current === undefined) return;
    if (eightBit) actions[current.index] = encodingFor(current);
    // The signature covers the label, so it cannot be changed.
    else if (!current.isProtected && (current.encoding === "8bit" || current.encoding === "binary"))
      actions[current.index] = "relabel";
  }

  const events: MimeEvents = {
    entity(entity) {
      if (entity.index > 0 && !isAscii(entity.header))
        throw new Unencodable("the header section of a part contains 8-bit data");
      endPreamble(entity.depth);
      if (entity.kind === "multipart") preamble = { depth: entity.depth, eightBit: false };
      actions[entity.index] = "keep";
      current = entity;
      eightBit = false;
      // After the conversion, a composite contains only ASCII.
      if (entity.kind !== "leaf") finishEntity();
    },
    content(bytes) {
      eightBit ||= !isAscii(bytes);
      if (eightBit && current?.index === 0) isUtf8 &&= canDecode(utf8, bytes);
    },
    contentEnd() {
      if (current?.index === 0) isUtf8 &&= canDecode(utf8);
      finishEntity();
    },
    structure(bytes) {
      if (isAscii(bytes)) return;
      if (current?.isProtected === true) throw new Unencodable(SEALED_REASON);
      if (preamble !== undefined) preamble.eightBit = true;
    },
  };

  try {
    const scanner = createMimeScanner(header, events);
    for await (const chunk of body) scanner.push(chunk);
    scanner.end();
    endPreamble(0);
  } catch (err) {
    if (err instanceof Unencodable || err instanceof MimeLimitError) return { why: err.message };
    throw err;
  }
  return { actions, charset: isUtf8 ? "utf-8" : "unknown-8bit" };
}

class Unencodable extends Error {}

const SEALED_REASON = "a signed or encrypted part contains 8-bit data (RFC 1847 2.1)";

/**
 * Returns true if the data so far is valid UTF-8; without `bytes`, returns true if the data ends with a complete
 * sequence.
 */
function canDecode(decoder: InstanceType<typeof TextDecoder>, bytes?: Uint8Array): boolean {
  try {
    decoder.decode(bytes, { stream: bytes !== undefined });
    return true;
  } catch {
    return false;
  }
}

function encodingFor({ type, encoding, isProtected }: Entity): Action {
  if (isProtected) throw new Unencodable(SEALED_REASON);
  // RFC 2045 6.4: clients would not find the parts inside an encoded multipart.
  if (type.startsWith("multipart/"))
    throw new Unencodable("a multipart contains 8-bit data and has no readable boundary");
  if (encoding !== "7bit" && encoding !== "8bit" && encoding !== "binary")
    throw new Unencodable(`a part contains 8-bit data although its encoding is ${encoding}`);
  // RFC 2046 5.2, RFC 3464 2.1: only 7bit is allowed; RFC 6532 3.7 permits other encodings for message/global.
  if (type.startsWith("message/") && !type.startsWith("message/global"))
    throw new Unencodable(`a part of type ${type} contains 8-bit data and must not be encoded`);
  return type.startsWith("text/") && encoding !== "binary" ? "quoted-printable" : "base64";
}

/** Returns the header section of the message with converted MIME fields; all other fields are unchanged. */
export function sevenBitHeader(
  header: Uint8Array,
  { actions: [action = "keep"], charset }: SevenBitPlan,
  fields: Pick<Entity, "fields">["fields"],
): Buffer {
  const encoded = withEncoding(header, action);
  if (action === "keep" || headerValue(fields, "mime-version") !== undefined) return encoded;
  // Clients do not decode a message without MIME-Version (RFC 2045 4). The charset is a guess (RFC 1428 3).
  const type =
    headerValue(fields, "content-type") === undefined ? `Content-Type: text/plain; charset=${charset}\r\n` : "";
  return Buffer.concat([encoded, Buffer.from(`MIME-Version: 1.0\r\n${type}`)]);
}

/** Returns the matching body, starting with the empty line. */
export async function* sevenBitBody(
  header: Uint8Array,
  body: Chunks,
  { actions }: SevenBitPlan,
): AsyncGenerator<Uint8Array> {
  let out: Uint8Array[] = [];
  let encoder: TransferEncoder | undefined;
  let current = 0;
  const events: MimeEvents = {
    entity({ index, header: section, emptyLine }) {
      current = index;
      const action = actions[index] ?? "keep";
      encoder =
        action === "quoted-printable" ? createQuotedPrintable() : action === "base64" ? createBase64() : undefined;
      if (index > 0) out.push(withEncoding(section, action));
      out.push(emptyLine);
    },
    content: (bytes) => void out.push(encoder === undefined ? bytes : encoder.push(bytes)),
    contentEnd() {
      if (encoder === undefined) return;
      out.push(encoder.end());
      // Inside a multipart, the final CRLF belongs to the boundary delimiter.
      if (current === 0 && actions[0] === "base64") out.push(Buffer.from("\r\n"));
      encoder = undefined;
    },
    // Preamble and epilogue are not displayed (RFC 2046 5.1.1), so 8-bit octets may be replaced.
    structure: (bytes) =>
      void out.push(isAscii(bytes) ? bytes : Buffer.from(bytes).map((octet) => (octet > 127 ? QUESTION_MARK : octet))),
  };
  const scanner = createMimeScanner(header, events);
  for await (const chunk of body) {
    for (const piece of cutPieces(chunk)) {
      scanner.push(piece);
      yield Buffer.concat(out);
      out = [];
    }
  }
  scanner.end();
  if (out.length > 0) yield Buffer.concat(out);
}

const QUESTION_MARK = 0x3f;
const PIECE_BYTES = 64 * 1024;

function* cutPieces(chunk: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < chunk.length; at += PIECE_BYTES) yield chunk.subarray(at, at + PIECE_BYTES);
}

/** Replaces the Content-Transfer-Encoding field, or appends it. */
function withEncoding(header: Uint8Array, action: Action): Buffer {
  if (action === "keep") return Buffer.from(header.buffer, header.byteOffset, header.byteLength);
  const field = Buffer.from(`Content-Transfer-Encoding: ${action === "relabel" ? "7bit" : action}\r\n`);
  const fields: Uint8Array[] = [];
  let hasField = false;
  for (const [start, end] of fieldRanges(header)) {
    const line = header.subarray(start, end);
    if (
      !/^content-transfer-encoding[ \t]*:/i.test(
        Buffer.from(line.buffer, line.byteOffset, Math.min(line.length, 64)).toString("latin1"),
      )
    )
      fields.push(line);
    else if (!hasField) {
      fields.push(field);
      hasField = true;
    }
  }
  return Buffer.concat(hasField ? fields : [...fields, field]);
}
