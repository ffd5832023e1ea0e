import type { Readable } from "node:stream";
import { isAscii } from "node:buffer";
import { encodeWord, foldLines } from "nodemailer/lib/mime-funcs";
import { fieldRanges } from "../../protocol/rfc5322/index.ts";
import { prependedStream } from "./streams.ts";
import type { MailSource } from "./types.ts";

/** A message with bytes put in front of it. Nothing is read before it is asked for. */
export function prepend(prefix: string, raw: Readable | Uint8Array): Readable | Uint8Array {
  const head = Buffer.from(prefix);
  return raw instanceof Uint8Array ? Buffer.concat([head, raw]) : prependedStream(head, raw);
}

/** The message under another header section. It reads from the first one, which still owns its file. */
export function withHeader(source: MailSource, headerBlock: Uint8Array): MailSource {
  const { file: _, ...rest } = source;
  return {
    ...rest,
    size: source.size - source.headerBlock.length + headerBlock.length,
    headerBlock,
    open(start = 0) {
      const inBody = Math.max(0, start - headerBlock.length);
      const body = source.open(source.headerBlock.length + inBody);
      const head = headerBlock.subarray(Math.min(start, headerBlock.length));
      return body instanceof Uint8Array ? Buffer.concat([head, body]) : prependedStream(head, body);
    },
  };
}

/** The message with whole fields, line ends included, on top. */
export const withFields = (source: MailSource, fields: string): MailSource =>
  fields === "" ? source : withHeader(source, Buffer.concat([Buffer.from(fields), source.headerBlock]));

/** The header section without the fields named in `drop` (lower case) and with `add` (whole fields, line ends included) on top. */
export function changedHeader(
  { headerBlock }: Pick<MailSource, "headerBlock">,
  { drop, add }: { drop: ReadonlySet<string>; add: string },
): Uint8Array {
  const kept: Uint8Array[] = [];
  for (const [start, end] of fieldRanges(headerBlock)) {
    const line = headerBlock.subarray(start, end);
    if (!drop.has(nameOf(line))) kept.push(line);
  }
  return Buffer.concat([Buffer.from(add), ...kept]);
}

/** The message with its header section changed so. The body stays as it is. */
export function rewriteHeader(
  source: MailSource,
  change: { drop: ReadonlySet<string>; add: string },
): () => Readable | Uint8Array {
  const changed = withHeader(source, changedHeader(source, change));
  return () => changed.open();
}

function nameOf(line: Uint8Array): string {
  const colon = line.indexOf(0x3a);
  return colon === -1 ? "" : Buffer.from(line.subarray(0, colon)).toString("latin1").trimEnd().toLowerCase();
}

/** RFC 5322 2.1.1: no line beyond 998 octets. Folding happens at white space; a longer run without any needs encoding. */
const LONGEST_RUN = 900;

/**
 * One header field with its line end: folded at 76, text outside ASCII in encoded words (RFC 2047). The caller has checked the name, and
 * that the value has no control characters.
 */
export function formatField(name: string, value: string): string {
  const bytes = Buffer.from(value);
  const encoded =
    isAscii(bytes) && !value.split(/[ \t]/).some((run) => run.length > LONGEST_RUN)
      ? value
      : encodeWord(value, "Q", 52);
  return `${foldLines(`${name}: ${encoded}`, 76)}\r\n`;
}
