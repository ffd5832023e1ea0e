import { canonicalDomain, fieldRanges } from "../../protocol/rfc5322/index.ts";
import { withHeader, type MailSource } from "../messages/index.ts";
import { QUARANTINE_FIELD } from "./result-fields.ts";

/**
 * Returns the message with `fields` on top, without Authentication-Results fields under the server's own authserv-id,
 * whatever their origin, and without those whose id cannot be parsed (RFC 8601 5, 7.1). The source is unchanged and
 * still owns its file.
 */
export function withResults(source: MailSource, fields: string, authservId: string): MailSource {
  const keptFields: Uint8Array[] = [Buffer.from(fields)];
  for (const [start, end] of fieldRanges(source.headerBlock)) {
    const field = source.headerBlock.subarray(start, end);
    if (!isForged(field, authservId)) keptFields.push(field);
  }
  return withHeader(source, Buffer.concat(keptFields));
}

function isForged(field: Uint8Array, authservId: string): boolean {
  // Field names are short; only fields with these two names are read in full.
  const start = Buffer.from(field.buffer, field.byteOffset, Math.min(field.length, 200)).toString("latin1");
  const [, name] = /^(authentication-results|x-reelpost-quarantine)[ \t\r\n]*:/i.exec(start) ?? [];
  if (name === undefined) return false;
  if (name.toLowerCase() === QUARANTINE_FIELD.toLowerCase()) return true;
  const text = Buffer.from(field.buffer, field.byteOffset, field.length).toString("utf8");
  const id = authservIdOf(text.slice(text.indexOf(":") + 1, 16 * 1024));
  return id === undefined || normalizeId(id) === normalizeId(authservId);
}

/** Compares ids regardless of case, a final dot and U-labels. */
const normalizeId = (id: string) => canonicalDomain(id.replace(/\.$/, "")) ?? id.toLowerCase();

/** Returns the first token of the value: `[CFWS] value` with value = token / quoted-string (RFC 8601 2.2). */
function authservIdOf(value: string): string | undefined {
  let at = 0;
  let depth = 0;
  for (; at < value.length; at++) {
    const char = value[at]!;
    if (depth > 0 && char === "\\") at++;
    else if (char === "(") depth++;
    else if (char === ")" && depth > 0) depth--;
    else if (depth === 0 && !/\s/.test(char)) break;
  }
  if (value[at] !== '"') return /^[^\s;()"/=]+/.exec(value.slice(at, at + 1000))?.[0];
  const [, quotedMatch] = /^"((?:[^"\\]|\\.)*)"/s.exec(value.slice(at)) ?? [];
  return quotedMatch?.replace(/\\(.)/gs, "$1").replace(/\r?\n/g, "").trim();
}
