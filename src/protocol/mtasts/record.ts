import { createHash } from "node:crypto";

/**
 * The id in the TXT records of `_mta-sts.<domain>` (RFC 8461 3.1): when it changes, a cached policy is fetched anew. Each record is given in
 * one piece, its strings joined. Undefined when the domain has no usable record: none, more than one, or one with broken syntax; senders then
 * go on as without MTA-STS (or with the policy they still hold).
 */
export function policyIdOf(records: readonly string[]): string | undefined {
  const ours = records.filter((record) => /^v=STSv1[ \t]*;/.test(record));
  return ours.length === 1 && ours[0]!.length <= MAX_RECORD ? readId(ours[0]!) : undefined;
}

/** More than any real one has, and what keeps a hostile one cheap. */
const MAX_RECORD = 4096;

function readId(record: string): string | undefined {
  // *WSP ";" *WSP divides; one may stand at the end.
  const fields = record
    .split(";")
    .map((field) => field.replace(/^[ \t]+|[ \t]+$/g, ""))
    .slice(1);
  if (fields.at(-1) === "") fields.pop();
  const values = fields.map((field) => /^([A-Za-z0-9][A-Za-z0-9_.-]{0,31})=([\x21-\x3a\x3c\x3e-\x7e]+)$/.exec(field));
  if (values.includes(null)) return undefined;
  // A field that is there twice: the first one counts.
  const id = values.find((value) => value![1] === "id")?.[2];
  return id !== undefined && /^[A-Za-z0-9]{1,32}$/.test(id) ? id : undefined;
}

/** The TXT record for a policy of ours: the same text always has the same id, so that processes need not agree on one. */
export const recordFor = (policyText: string): string =>
  `v=STSv1; id=${createHash("sha256").update(policyText).digest("hex").slice(0, 32)};`;
