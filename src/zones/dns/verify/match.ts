import { recordKey, concatenatedText } from "../provider/change.ts";
import type { ProviderRecord } from "../provider/port.ts";

/** Kinds of records that have their own matching rules. */
type RecordKind = "mx" | "spf" | "dkim" | "dmarc" | "other";

const VERSIONS: [RecordKind, RegExp][] = [
  ["spf", /^v=spf1(\s|$)/i],
  ["dkim", /^v\s*=\s*DKIM1\s*(;|$)/i],
  ["dmarc", /^v\s*=\s*DMARC1\s*(;|$)/i],
];

export function kindOf(record: ProviderRecord): RecordKind {
  if (record.type === "MX") return "mx";
  if (record.type !== "TXT") return "other";
  const text = concatenatedText(record);
  return VERSIONS.find(([, version]) => version.test(text))?.[0] ?? "other";
}

type Match = { state: "right" } | { state: "missing" } | { state: "wrong"; found: ProviderRecord[] };

/** Returns the state of an expected record, compared with the existing records of its name and type. */
export function matchRecord(expected: ProviderRecord, existingRecords: readonly ProviderRecord[]): Match {
  if (existingRecords.some((record) => recordKey(record) === recordKey(expected))) return { state: "right" };
  const kind = kindOf(expected);
  const rivals = existingRecords.filter((record) => isRival(kind, expected, record));
  if (rivals.length === 0) return { state: "missing" };
  return rivals.some((record) => isSufficient(kind, expected, record))
    ? { state: "right" }
    : { state: "wrong", found: rivals };
}

/** Returns a record that conflicts with the expected one. Excludes other MX records of our own and unrelated texts. */
function isRival(kind: RecordKind, expected: ProviderRecord, record: ProviderRecord): boolean {
  if (kind === "mx") return record.content === expected.content;
  if (kind === "other") return expected.type === "CNAME";
  // A revoked key or one without tags is still the selector's key record (RFC 6376 3.6.1: v= is optional).
  if (kind === "dkim") return kindOf(record) === "dkim" || /(^|;)\s*p\s*=/.test(concatenatedText(record));
  return kindOf(record) === kind;
}

function isSufficient(kind: RecordKind, expected: ProviderRecord, record: ProviderRecord): boolean {
  // A user who also sends from other servers may merge our mechanisms into their own record.
  if (kind === "spf") return includesAll(concatenatedText(record), concatenatedText(expected));
  if (kind === "dkim")
    return (
      (kindOf(record) === "dkim" || tagOf(concatenatedText(record), "v") === undefined) &&
      tagOf(concatenatedText(record), "p") === tagOf(concatenatedText(expected), "p")
    );
  // The domain owner may choose any policy.
  if (kind === "dmarc") return /^(none|quarantine|reject)$/i.test(tagOf(concatenatedText(record), "p") ?? "");
  return false;
}

/** Returns all mechanisms of `ourText` except the final `all`. */
function includesAll(theirText: string, ourText: string): boolean {
  const termsOf = (text: string) =>
    text
      .toLowerCase()
      .split(/\s+/)
      .slice(1)
      .map((term) => term.replace(/^\+/, ""));
  const theirTerms = new Set(termsOf(theirText));
  const needed = termsOf(ourText).filter((term) => !/^[-~?]?all$/.test(term));
  return needed.length > 0 && needed.every((term) => theirTerms.has(term));
}

/** Returns the value of a tag in a tag list (RFC 6376 3.2), without white space: keys are often folded. */
function tagOf(text: string, name: string): string | undefined {
  for (const part of text.split(";")) {
    const separatorIndex = part.indexOf("=");
    if (separatorIndex !== -1 && part.slice(0, separatorIndex).trim() === name)
      return part.slice(separatorIndex + 1).replace(/\s/g, "");
  }
  return undefined;
}
