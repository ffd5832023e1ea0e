import { isAscii } from "node:buffer";
import { encodeWord, foldLines } from "nodemailer/lib/mime-funcs";
import { fieldRanges, parseAddressList, readHeader } from "../../protocol/rfc5322/index.ts";
import { formatField } from "../messages/index.ts";

/** Unstructured fields (RFC 5322 3.6.5), where encoded words are allowed. */
const UNSTRUCTURED_FIELD = /^(?:subject|comments|content-description|organization|thread-topic|x-[a-z0-9_-]+)$/i;
const ADDRESS_FIELD = /^(?:from|sender|reply-to|to|cc|resent-from|resent-sender|resent-to|resent-cc|resent-reply-to)$/i;

/**
 * Converts a UTF-8 header section (RFC 6532) to ASCII with encoded words (RFC 2047) in unstructured fields and display
 * names. Returns the name of the first field that cannot be converted without loss.
 */
export function asciiHeader(header: Uint8Array): { header: Buffer } | { field: string } {
  const fields: Uint8Array[] = [];
  for (const [start, end] of fieldRanges(header)) {
    const line = header.subarray(start, end);
    if (isAscii(line)) {
      fields.push(line);
      continue;
    }
    const reading = readHeader(line);
    const [name, value] = (reading.ok && reading.fields[0]) || ["", ""];
    const encoded = UNSTRUCTURED_FIELD.test(name)
      ? encodeFreeText(name, value)
      : ADDRESS_FIELD.test(name)
        ? encodeAddresses(name, value)
        : undefined;
    if (encoded === undefined) return { field: name };
    fields.push(Buffer.from(encoded));
  }
  return { header: Buffer.concat(fields) };
}

/** Undefined for text that contains encoded words: if they were encoded again, they would be shown undecoded. */
const encodeFreeText = (name: string, value: string): string | undefined =>
  value.includes("=?") || /\p{Cc}/u.test(value.replaceAll("\t", " ")) ? undefined : formatField(name, value);

function encodeAddresses(name: string, value: string): string | undefined {
  const list = parseAddressList(value);
  // Parsing into mailboxes would lose comments and groups.
  if (list === undefined || list.length === 0 || /[(:;]|=\?/.test(value.replace(/"(?:[^"\\]|\\.)*"/g, "")))
    return undefined;
  if (list.some(({ name: displayName, address }) => !isAscii(Buffer.from(address)) || /\p{Cc}/u.test(displayName)))
    return undefined;
  const mailboxes = list.map(({ name: displayName, address }) =>
    displayName === "" ? address : `${encodePhrase(displayName)} <${address}>`,
  );
  return `${foldLines(`${name}: ${mailboxes.join(", ")}`, 76)}\r\n`;
}

const encodePhrase = (text: string): string =>
  isAscii(Buffer.from(text)) ? `"${text.replace(/["\\]/g, "\\$&")}"` : encodeWord(text, "Q", 52);
