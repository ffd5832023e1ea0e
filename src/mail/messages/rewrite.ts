import type { Readable } from "node:stream";
import { isAscii } from "node:buffer";
import { encodeWord, foldLines } from "nodemailer/lib/mime-funcs";
import { fieldRanges } from "../../protocol/rfc5322/index.ts";
import { prependedStream } from "./streams.ts";
import type { MailSource } from "./types.ts";

/** Returns a message with bytes prepended. Reads nothing in advance. */
export function prepend(prefix: string, raw: Readable | Uint8Array): Readable | Uint8Array {
  const head = Buffer.from(prefix);
  return raw instanceof Uint8Array ? Buffer.concat([head, raw]) : prependedStream(head, raw);
}

/** Returns the message with another header section. It reads from the original source, which still owns its file. */
export function withHeader(source: MailSource, headerBlock: Uint8Array): MailSource {
  const { file: _, ...rest } = source;
  return {
    ...rest,
    size: source.size - source.headerBlock.length + headerBlock.length,
    headerBlock,
    open(start = 0) {
      const bodyOffset = Math.max(0, start - headerBlock.length);
      const body = source.open(source.headerBlock.length + bodyOffset);
      if (start >= headerBlock.length) return body;
      const head = headerBlock.subarray(start);
      return body instanceof Uint8Array ? Buffer.concat([head, body]) : prependedStream(head, body);
    },
  };
}

/** Returns the message with complete fields, including line endings, on top. */
export const withFields = (source: MailSource, fields: string): MailSource =>
  fields === "" ? source : withHeader(source, Buffer.concat([Buffer.from(fields), source.headerBlock]));

/**
 * Returns the header section without the fields listed in `drop` (lower case) and with `add` (complete fields,
 * including line endings) on top.
 */
export function changeHeader(
  { headerBlock }: Pick<MailSource, "headerBlock">,
  { drop, add }: { drop: ReadonlySet<string>; add: string },
): Uint8Array {
  const keptLines: Uint8Array[] = [];
  for (const [start, end] of fieldRanges(headerBlock)) {
    const line = headerBlock.subarray(start, end);
    if (!drop.has(nameOf(line))) keptLines.push(line);
  }
  return Buffer.concat([Buffer.from(add), ...keptLines]);
}

/** Returns the message with this change to its header section and an unchanged body. */
export function rewriteHeader(
  source: MailSource,
  change: { drop: ReadonlySet<string>; add: string },
): () => Readable | Uint8Array {
  const changedSource = withHeader(source, changeHeader(source, change));
  return () => changedSource.open();
}

function nameOf(line: Uint8Array): string {
  const colon = line.indexOf(0x3a);
  return colon === -1 ? "" : Buffer.from(line.subarray(0, colon)).toString("latin1").trimEnd().toLowerCase();
}

/**
 * RFC 5322 2.1.1: no line over 998 octets. Lines are folded at white space; a longer run without white space must be
 * encoded.
 */
const MAX_RUN_LENGTH = 900;

/**
 * Formats a header field with its line ending: folded at 76 characters, with non-ASCII text in encoded words (RFC
 * 2047). The caller has validated the name and has checked that the value contains no control characters.
 */
export function formatField(name: string, value: string): string {
  const bytes = Buffer.from(value);
  const encoded =
    isAscii(bytes) && !value.split(/[ \t]/).some((run) => run.length > MAX_RUN_LENGTH)
      ? value
      : encodeWord(value, "Q", 52);
  return `${foldLines(`${name}: ${encoded}`, 76)}\r\n`;
}
