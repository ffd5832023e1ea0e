import { relaxedField } from "./relaxed.ts";
import {
  algorithmOf,
  foldValue,
  messageSignature,
  SIGNED_FIELDS,
  signData,
  type SignatureInput,
  type SigningKey,
} from "./signature.ts";

/** Maximum number of ARC sets (RFC 8617 4.2.1). */
const MAX_ARC_SETS = 50;

/** RFC 8617 4.1.2: DKIM signatures are covered, but Authentication-Results and ARC fields are not. */
const SEALED_FIELDS: readonly string[] = ["dkim-signature", ...SIGNED_FIELDS];

interface SealInput {
  /** Result of verifying the incoming chain (RFC 8617 5.2). */
  chain: "none" | "pass" | "fail";
  /** Value of the Authentication-Results field that this server adds, without the name and the line ending. */
  results: string;
}

/**
 * Returns the three fields of a new ARC set, the seal first (RFC 8617 5.1). Undefined if no set may be added because
 * the chain is full or has already failed with cv=fail (5.1 step 2). `fields` is the outgoing message without this set.
 */
export async function arcSet(
  signed: Omit<SignatureInput, "oversigned" | "names">,
  key: SigningKey,
  { chain, results }: SealInput,
): Promise<string | undefined> {
  const sets = arcFields(signed.fields);
  const instance = Math.max(0, ...sets.keys()) + 1;
  if (instance > MAX_ARC_SETS) return undefined;
  const newestSeal = sets.get(instance - 1)?.find((field) => kindOf(field) === "arc-seal");
  if (newestSeal !== undefined && tagOf(newestSeal, "cv")?.toLowerCase() === "fail") return undefined;
  // If verification found no chain although ARC fields exist, the next hop sees a broken chain.
  const cv = chain === "none" && instance > 1 ? "fail" : chain;
  const resultsField = `ARC-Authentication-Results: i=${instance}; ${results}\r\n`;
  const message = await messageSignature(
    "ARC-Message-Signature",
    `i=${instance}`,
    { ...signed, names: SEALED_FIELDS, oversigned: [] },
    key,
  );
  const sealHead = `ARC-Seal: i=${instance}; a=${algorithmOf(key.key)}; t=${signed.time}; cv=${cv};\r\n\td=${key.domain}; s=${key.selector};\r\n\tb=`;
  // 5.1.2: the seal of a failed chain covers only its own set.
  const earlierFields = cv === "pass" ? chainFields(sets) : [];
  const data =
    [...earlierFields, resultsField, message].map((field) => `${relaxedField(field)}\r\n`).join("") +
    relaxedField(sealHead);
  return `${sealHead}${foldValue(await signData(key.key, data))}\r\n${message}${resultsField}`;
}

const FIELD_ORDER = ["arc-authentication-results", "arc-message-signature", "arc-seal"];

const kindOf = (field: string) => field.slice(0, field.indexOf(":")).trim().toLowerCase();

function arcFields(fields: readonly string[]): Map<number, string[]> {
  const sets = new Map<number, string[]>();
  for (const field of fields) {
    if (!FIELD_ORDER.includes(kindOf(field))) continue;
    const instance = Number(tagOf(field, "i"));
    if (Number.isInteger(instance) && instance >= 1 && instance <= 99)
      sets.getOrInsertComputed(instance, () => []).push(field);
  }
  return sets;
}

/** 5.1.1: ordered by instance, and within each set in the order results, signature, seal. */
const chainFields = (sets: Map<number, string[]>): string[] =>
  [...sets]
    .sort(([a], [b]) => a - b)
    .flatMap(([, fields]) =>
      fields.toSorted((a, b) => FIELD_ORDER.indexOf(kindOf(a)) - FIELD_ORDER.indexOf(kindOf(b))),
    );

/** Returns the value of a tag; in the results field, only "i" is a tag. */
function tagOf(field: string, name: string): string | undefined {
  for (const part of field.slice(field.indexOf(":") + 1).split(";")) {
    const equals = part.indexOf("=");
    if (equals !== -1 && part.slice(0, equals).trim() === name)
      return part
        .slice(equals + 1)
        .replace(/\([^()]*\)/g, "")
        .trim();
  }
  return undefined;
}
