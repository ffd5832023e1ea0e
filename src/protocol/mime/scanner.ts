import { readHeader, type HeaderField } from "../rfc5322/index.ts";
import { boundaryOf, mediaTypeOf, transferEncodingOf } from "./content-type.ts";

/** The header section of a message or of a part. */
export interface Entity {
  /** Index in order of appearance; the message itself is 0. */
  index: number;
  /** `message`: the content is an embedded message, whose header is the next entity. */
  kind: "leaf" | "multipart" | "message";
  /** Media type in lower case, such as "text/plain". */
  type: string;
  encoding: string;
  fields: HeaderField[];
  /** Raw header section without the empty line. */
  header: Buffer;
  /** The empty line after the header section; zero length if the section was truncated. */
  emptyLine: Buffer;
  /** True inside multipart/signed and multipart/encrypted, which must not be changed in transit (RFC 1847 2.1). */
  isProtected: boolean;
  /** Number of enclosing multiparts. */
  depth: number;
}

/** All bytes after the header section, in order; concatenated, they yield the original message. */
export interface MimeEvents {
  entity(entity: Entity): void;
  /** Content of the latest leaf. */
  content(bytes: Uint8Array): void;
  /** Delimiters, preambles and epilogues. */
  structure(bytes: Uint8Array): void;
  /** Called when the content of a leaf is complete. */
  contentEnd(): void;
}

interface MimeScanner {
  push(chunk: Uint8Array): void;
  end(): void;
}

/**
 * The message exceeds MIME_LIMITS: it has too many parts, is nested too deeply, or has header sections that are too
 * large.
 */
export class MimeLimitError extends Error {
  override readonly name = "MimeLimitError";
}

export const MIME_LIMITS = { entities: 1000, depth: 20, headerBytes: 256 * 1024 };

const HEADER_LIMITS = { maxBytes: 2 * 1024 * 1024, maxFields: 20_000 };
/**
 * A delimiter has "--", at most 70 characters, and "--" (RFC 2046 5.1.1); some senders use longer boundaries and
 * trailing white space.
 */
const MAX_DELIMITER_BYTES = 512;

const CR = 0x0d;
const LF = 0x0a;
const DASH = 0x2d;
const NONE = Buffer.alloc(0);
const CRLF = Buffer.from("\r\n");
const LINE_OF_DASHES = Buffer.from("\n--");

interface Level {
  delimiter: string;
  sealed: boolean;
}

/**
 * Streaming parser of MIME structure (RFC 2046 5.1, 5.2.1) with bounded memory. `header` is the header section without
 * the empty line; the pushed data starts with that line. Throws MimeLimitError.
 */
export function createMimeScanner(header: Uint8Array, events: MimeEvents): MimeScanner {
  const levels: Level[] = [];
  let mode: "header" | "content" | "frame" = "header";
  let lines: Uint8Array[] = [header];
  let headerBytes = 0;
  let entities = 0;
  /** Number of open embedded messages. */
  let nestedCount = 0;
  let isAtLineStart = true;
  /** A pending line ending, which is part of the delimiter if one follows. */
  let eol: Uint8Array = NONE;
  let rest: Buffer = NONE;

  function beginHeader() {
    mode = "header";
    lines = [];
    headerBytes = 0;
  }

  function endHeader(blank: Uint8Array) {
    const block = Buffer.concat(lines);
    const reading = readHeader(block, HEADER_LIMITS);
    if (!reading.ok) throw new MimeLimitError(reading.why);
    if (entities >= MIME_LIMITS.entities)
      throw new MimeLimitError(`the message has more than ${MIME_LIMITS.entities} parts`);
    const { fields } = reading;
    const [type, encoding] = [mediaTypeOf(fields), transferEncodingOf(fields)];
    // RFC 2045 6.4: a composite type must not be encoded, and clients do not decode it if it is.
    const isIdentityEncoding = encoding === "7bit" || encoding === "8bit" || encoding === "binary";
    const boundary =
      isIdentityEncoding && type.startsWith("multipart/")
        ? boundaryOf(fields.find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? "")
        : undefined;
    const kind =
      boundary !== undefined ? "multipart" : isIdentityEncoding && type === "message/rfc822" ? "message" : "leaf";
    const isProtected = levels.at(-1)?.sealed ?? false;
    events.entity({
      index: entities++,
      kind,
      type,
      encoding,
      fields,
      header: block,
      emptyLine: Buffer.from(blank),
      isProtected,
      depth: levels.length,
    });
    eol = NONE;
    isAtLineStart = true;
    if (kind !== "leaf" && levels.length + nestedCount >= MIME_LIMITS.depth)
      throw new MimeLimitError(`the parts of the message are nested deeper than ${MIME_LIMITS.depth} levels`);
    if (kind === "leaf") mode = "content";
    else if (kind === "message") {
      nestedCount++;
      beginHeader();
    } else {
      mode = "frame";
      levels.push({
        delimiter: `--${boundary}`,
        sealed: isProtected || type === "multipart/signed" || type === "multipart/encrypted",
      });
    }
  }

  /** Consumes a delimiter line. The delimiter of an outer multipart also closes unclosed inner ones. */
  function isDelimiter(line: Buffer): boolean {
    if (levels.length === 0 || line[0] !== DASH || line[1] !== DASH || line.length > MAX_DELIMITER_BYTES) return false;
    const text = line.toString("latin1").trimEnd();
    const at = levels.findLastIndex(({ delimiter }) => text === delimiter || text === `${delimiter}--`);
    if (at === -1) return false;
    const isClosing = text !== levels[at]!.delimiter;
    if (mode === "header") endHeader(NONE);
    if (mode === "content") events.contentEnd();
    events.structure(eol);
    events.structure(line);
    eol = NONE;
    nestedCount = 0;
    levels.length = isClosing ? at : at + 1;
    if (isClosing) mode = "frame";
    else beginHeader();
    return true;
  }

  /** Handles data other than delimiters: whole lines or part of a line. */
  function text(bytes: Buffer) {
    let from = bytes;
    if (eol.length === 1 && eol[0] === CR && from[0] === LF) {
      eol = CRLF;
      from = from.subarray(1);
      if (from.length === 0) return;
    }
    emit(eol);
    const lineEndLength = from.at(-1) === LF ? (from.at(-2) === CR ? 2 : 1) : from.at(-1) === CR ? 1 : 0;
    emit(from.subarray(0, from.length - lineEndLength));
    eol = lineEndLength === 0 ? NONE : Buffer.from(from.subarray(from.length - lineEndLength));
  }

  function emit(bytes: Uint8Array) {
    if (bytes.length === 0) return;
    if (mode === "content") events.content(bytes);
    else events.structure(bytes);
  }

  /** Reads one header line; undefined if it is incomplete. */
  function readHeaderLine(bytes: Buffer, at: number): number | undefined {
    const lf = bytes.indexOf(LF, at);
    if (headerBytes + (lf === -1 ? bytes.length : lf) - at > MIME_LIMITS.headerBytes)
      throw new MimeLimitError(
        `a part of the message has a header section larger than ${MIME_LIMITS.headerBytes} octets`,
      );
    if (lf === -1) return undefined;
    const line = bytes.subarray(at, lf + 1);
    if (isDelimiter(line)) return lf + 1;
    if (line.length === 1 || (line.length === 2 && line[0] === CR)) endHeader(line);
    else {
      lines.push(Buffer.from(line));
      headerBytes += line.length;
    }
    return lf + 1;
  }

  /** Reads content up to the next possible delimiter. */
  function readLineOrText(bytes: Buffer, at: number): number | undefined {
    if (isAtLineStart && bytes[at] === DASH && (at + 1 === bytes.length || bytes[at + 1] === DASH)) {
      const lf = bytes.indexOf(LF, at);
      if (lf === -1 && bytes.length - at <= MAX_DELIMITER_BYTES) return undefined;
      if (lf !== -1 && isDelimiter(bytes.subarray(at, lf + 1))) return lf + 1;
    }
    const next = bytes.indexOf(LINE_OF_DASHES, at);
    let end = next === -1 ? bytes.length : next + 1;
    // A trailing dash may be the start of a delimiter.
    if (next === -1 && bytes.length - at > 1 && bytes.at(-1) === DASH && bytes.at(-2) === LF) end--;
    text(bytes.subarray(at, end));
    isAtLineStart = bytes[end - 1] === LF;
    return end;
  }

  function read(bytes: Buffer) {
    for (let at: number | undefined = 0; at < bytes.length;) {
      const next: number | undefined = mode === "header" ? readHeaderLine(bytes, at) : readLineOrText(bytes, at);
      if (next === undefined) {
        rest = Buffer.from(bytes.subarray(at));
        return;
      }
      at = next;
    }
  }

  return {
    push(chunk) {
      const bytes =
        rest.length === 0
          ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
          : Buffer.concat([rest, chunk]);
      rest = NONE;
      read(bytes);
    },
    end() {
      const last = rest;
      rest = NONE;
      if (last.length > 0 && !isDelimiter(last)) {
        if (mode === "header") lines.push(last);
        else text(last);
      }
      if (mode === "header") endHeader(NONE);
      emit(eol);
      eol = NONE;
      if (mode === "content") events.contentEnd();
    },
  };
}
