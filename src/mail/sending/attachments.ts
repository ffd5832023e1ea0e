import { mailErrors } from "../errors.ts";
import type { FieldNames } from "./field-names.ts";

export interface Attachment {
  filename: string;
  /** MIME type, for example "image/png"; parameters may follow. */
  type: string;
  content: Buffer;
  disposition: "attachment" | "inline";
  /** The id, without angle brackets, that `cid:` URLs in the HTML part refer to. */
  contentId?: string;
}

const MAX_ATTACHMENTS = 100;

export function readAttachments(value: unknown, names: FieldNames): Attachment[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw mailErrors.invalidField({ field: "attachments", why: "must be an array" });
  if (value.length > MAX_ATTACHMENTS)
    throw mailErrors.invalidField({
      field: "attachments",
      why: `has ${value.length} entries, maximum is ${MAX_ATTACHMENTS}`,
    });
  return value.map((entry, i) => readAttachment(entry, `attachments[${i}]`, names));
}

function readAttachment(entry: unknown, field: string, names: FieldNames): Attachment {
  if (typeof entry !== "object" || entry === null)
    throw mailErrors.invalidField({ field, why: "must be an object with content, filename and type" });
  const { content, filename, type, disposition, contentId } = entry as Record<string, unknown>;
  const attachment: Attachment = {
    filename: checkPlainText(filename, `${field}.filename`, "Set the file name of the attachment."),
    type: checkMimeType(
      checkPlainText(type, `${field}.type`, "Set the MIME type, for example application/pdf."),
      `${field}.type`,
    ),
    content: bytes(content, `${field}.content`, names),
    disposition: dispositionOf(disposition, `${field}.disposition`),
  };
  if (contentId !== undefined && contentId !== null)
    attachment.contentId = contentIdOf(contentId, `${field}.${names.contentId}`);
  if (attachment.disposition === "inline" && attachment.contentId === undefined) {
    throw mailErrors.fieldMissing({
      field: `${field}.${names.contentId}`,
      fix: "Set it to the id that the HTML references as cid:id.",
    });
  }
  return attachment;
}

function checkPlainText(value: unknown, field: string, fix: string): string {
  if (value === undefined || value === null || value === "") throw mailErrors.fieldMissing({ field, fix });
  if (typeof value !== "string" || value.length > 500 || /\p{Cc}/u.test(value))
    throw mailErrors.invalidField({
      field,
      why: "must be a string without control characters, 500 characters at most",
    });
  return value;
}

/** RFC 2045 5.1: two tokens; the composer handles parameters. */
function checkMimeType(value: string, field: string): string {
  const [essence] = value.split(";");
  if (!/^[\w!#$%&'*+.^`{|}~-]+\/[\w!#$%&'*+.^`{|}~-]+$/.test(essence!.trim()))
    throw mailErrors.invalidField({ field, why: `is not a MIME type: ${JSON.stringify(value)}` });
  return value;
}

function dispositionOf(value: unknown, field: string): Attachment["disposition"] {
  if (value === undefined || value === null) return "attachment";
  if (value !== "attachment" && value !== "inline")
    throw mailErrors.invalidField({ field, why: "must be 'attachment' or 'inline'" });
  return value;
}

function contentIdOf(value: unknown, field: string): string {
  const id = typeof value === "string" ? value.replace(/^<|>$/g, "") : "";
  if (!/^[^\s<>\p{Cc}]{1,200}$/u.test(id))
    throw mailErrors.invalidField({ field, why: "must be a word without spaces and angle brackets" });
  return id;
}

/** A string is base64, as documented. An ArrayBuffer or view in the worker arrives as `{ base64 }`. */
function bytes(value: unknown, field: string, names: FieldNames): Buffer {
  if (value === undefined || value === null) throw mailErrors.fieldMissing({ field, fix: `Set ${names.content}.` });
  const isBinary = typeof value === "object" && typeof (value as { base64?: unknown }).base64 === "string";
  const base64 = isBinary ? (value as { base64: string }).base64 : value;
  if (typeof base64 !== "string") throw mailErrors.invalidField({ field, why: `must be ${names.content}` });
  const decodedBytes = decodeBase64(base64);
  if (decodedBytes === undefined) throw mailErrors.invalidField({ field, why: `is not base64${names.binary}` });
  return decodedBytes;
}

/**
 * Undefined unless the text is complete base64 (RFC 4648 4), ignoring white space: Buffer alone would silently skip
 * invalid characters.
 */
function decodeBase64(text: string): Buffer | undefined {
  const compactText = /\s/.test(text) ? text.replace(/\s+/g, "") : text;
  const paddingLength = compactText.endsWith("==") ? 2 : compactText.endsWith("=") ? 1 : 0;
  const digitCount = compactText.length - paddingLength;
  if (digitCount % 4 === 1 || (paddingLength > 0 && compactText.length % 4 !== 0)) return undefined;
  const decodedBytes = Buffer.from(compactText, "base64");
  // Buffer stops at or skips characters outside the alphabet; the URL-safe alphabet is not accepted here.
  return decodedBytes.length === Math.floor((digitCount * 3) / 4) && !/[-_]/.test(compactText)
    ? decodedBytes
    : undefined;
}
