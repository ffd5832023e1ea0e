import { createHash } from "node:crypto";

/**
 * Returns the id in the TXT records of `_mta-sts.<domain>` (RFC 8461 3.1): if the id has changed, a cached policy must
 * be fetched again. Each record is a single text with its strings joined. Undefined if the domain does not have exactly
 * one valid record; senders then proceed without MTA-STS (or with a cached policy).
 */
export function policyIdOf(records: readonly string[]): string | undefined {
  const stsRecords = records.filter((record) => /^v=STSv1[ \t]*;/.test(record));
  return stsRecords.length === 1 && stsRecords[0]!.length <= MAX_RECORD_LENGTH ? readId(stsRecords[0]!) : undefined;
}

/**
 * Maximum length of a record: longer than any real one, and short enough that hostile records are cheap to process.
 */
const MAX_RECORD_LENGTH = 4096;

function readId(record: string): string | undefined {
  // Fields are separated by *WSP ";" *WSP, with an optional one at the end.
  const fields = record
    .split(";")
    .map((field) => field.replace(/^[ \t]+|[ \t]+$/g, ""))
    .slice(1);
  if (fields.at(-1) === "") fields.pop();
  const values = fields.map((field) => /^([A-Za-z0-9][A-Za-z0-9_.-]{0,31})=([\x21-\x3a\x3c\x3e-\x7e]+)$/.exec(field));
  if (values.includes(null)) return undefined;
  // If a field is repeated, its first value is used.
  const id = values.find((value) => value![1] === "id")?.[2];
  return id !== undefined && /^[A-Za-z0-9]{1,32}$/.test(id) ? id : undefined;
}

/**
 * Returns the TXT record for a policy on this server. The id is derived from the text, so that all processes use the
 * same id.
 */
export const recordFor = (policyText: string): string =>
  `v=STSv1; id=${createHash("sha256").update(policyText).digest("hex").slice(0, 32)};`;
