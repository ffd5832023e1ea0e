import { boundaryOf, mediaTypeOf } from "../mime/index.ts";
import { headerValue, readHeader, createHeaderEndFinder, type HeaderField } from "../rfc5322/index.ts";

/** A leaf part of a message, as needed to read reports: type, header fields and decoded body. */
export interface Part {
  /** "text/plain", lower case. */
  type: string;
  fields: HeaderField[];
  body: Buffer;
}

const LIMITS = { maxBytes: 64 * 1024, maxFields: 1000 };
const MAX_DEPTH = 4;
const MAX_PARTS = 50;

/**
 * Reads the parts of a message. A broken structure yields fewer parts, never an error; the number of parts and the
 * depth are bounded.
 */
export function readParts(message: Buffer): { fields: HeaderField[]; leaves: Part[] } {
  const leaves: Part[] = [];
  walk(message, leaves, 0);
  return { fields: splitPart(message).fields, leaves };
}

function walk(bytes: Buffer, leaves: Part[], depth: number): void {
  if (leaves.length >= MAX_PARTS) return;
  const part = splitPart(bytes);
  const boundary = part.type.startsWith("multipart/")
    ? boundaryOf(headerValue(part.fields, "content-type") ?? "")
    : undefined;
  if (boundary === undefined || depth >= MAX_DEPTH) return void leaves.push({ ...part, body: decodePart(part) });
  for (const inner of splitMultipart(part.body, boundary)) walk(inner, leaves, depth + 1);
}

function splitPart(bytes: Buffer): Part {
  // A part without header fields begins with the empty line.
  const end = /^\r?\n/.test(bytes.toString("latin1", 0, 2)) ? 0 : (createHeaderEndFinder().push(bytes) ?? bytes.length);
  const reading = readHeader(bytes.subarray(0, Math.min(end, LIMITS.maxBytes)), LIMITS);
  const fields = reading.ok ? reading.fields : [];
  const lineEndBytes = bytes[end] === 0x0d ? 2 : 1;
  return { type: mediaTypeOf(fields), fields, body: bytes.subarray(Math.min(end + lineEndBytes, bytes.length)) };
}

/** RFC 2046 5.1.1: returns the bodies between boundary lines; a truncated part is included as far as it is present. */
function splitMultipart(body: Buffer, boundary: string): Buffer[] {
  const foundParts: Buffer[] = [];
  const delimiter = Buffer.from(`--${boundary}`, "latin1");
  let from = -1;
  for (
    let at = body.indexOf(delimiter);
    at !== -1 && foundParts.length < MAX_PARTS;
    at = body.indexOf(delimiter, at + delimiter.length)
  ) {
    if (at > 0 && body[at - 1] !== 0x0a) continue;
    if (from !== -1) foundParts.push(body.subarray(from, Math.max(from, body[at - 2] === 0x0d ? at - 2 : at - 1)));
    const lineEnd = body.indexOf(0x0a, at);
    if (lineEnd === -1 || body.toString("latin1", at + delimiter.length, at + delimiter.length + 2) === "--")
      return foundParts;
    from = lineEnd + 1;
  }
  if (from !== -1 && foundParts.length < MAX_PARTS) foundParts.push(body.subarray(from));
  return foundParts;
}

function decodePart({ fields, body }: Part): Buffer {
  const encoding = headerValue(fields, "content-transfer-encoding")?.trim().toLowerCase();
  if (encoding === "base64") return Buffer.from(body.toString("latin1"), "base64");
  if (encoding !== "quoted-printable") return body;
  const text = body
    .toString("latin1")
    .replace(/=[ \t]*\r?\n/g, "")
    .replace(/=([0-9A-Fa-f]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return Buffer.from(text, "latin1");
}
