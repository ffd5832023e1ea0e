import { createHash, sign as signSync, type KeyObject } from "node:crypto";
import { promisify } from "node:util";
import { relaxedField } from "./relaxed.ts";

// Runs in the thread pool: an RSA signature takes a quarter of a millisecond, which would block all other sessions.
const sign = promisify(signSync);

/**
 * A signing key: RSA with at least 1024 bits (RFC 8301 3.2), or Ed25519 (RFC 8463). The public key is published at
 * `<selector>._domainkey.<domain>`.
 */
export interface SigningKey {
  domain: string;
  selector: string;
  key: KeyObject;
}

/**
 * Fields worth signing (RFC 6376 5.4.1): those that readers see and act on, including one-click unsubscribe (RFC 8058
 * 4). Trace fields change in transit and are excluded.
 */
export const SIGNED_FIELDS: readonly string[] = [
  "from",
  "sender",
  "reply-to",
  "to",
  "cc",
  "subject",
  "date",
  "message-id",
  "in-reply-to",
  "references",
  "mime-version",
  "content-type",
  "content-transfer-encoding",
  "content-id",
  "content-description",
  "resent-from",
  "resent-sender",
  "resent-to",
  "resent-cc",
  "resent-date",
  "resent-message-id",
  "list-id",
  "list-help",
  "list-unsubscribe",
  "list-unsubscribe-post",
  "list-subscribe",
  "list-post",
  "list-owner",
  "list-archive",
  "auto-submitted",
  "feedback-id",
];

/** At most this many occurrences of a repeated field are covered, from the bottom. */
const MAX_SAME_NAME = 10;

export interface SignatureInput {
  /** Header fields of the message in order, each with its line ending, as Latin-1 text. */
  fields: readonly string[];
  /** SHA-256 of the relaxed body, as base64. */
  bodyHash: string;
  /** Field names in lower case. Default SIGNED_FIELDS. */
  names?: readonly string[];
  /** Fields that are signed once more than they occur, so that none can be added (RFC 6376 8.15). Default From only. */
  oversigned?: readonly string[];
  /** Seconds since the epoch. */
  time: number;
  /** Seconds since the epoch, for `x=`. */
  expires?: number;
}

/** Returns one DKIM-Signature field per key, each with its line ending, to be prepended. */
export function dkimSignatures(signed: SignatureInput, keys: readonly SigningKey[]): Promise<string[]> {
  const covered = coveredHeader(signed);
  return Promise.all(keys.map((key) => signatureField("DKIM-Signature", "v=1", signed, covered, key)));
}

/**
 * DKIM-Signature and ARC-Message-Signature are built the same way (RFC 8617 4.1.2). `first` is the tag in which they
 * differ.
 */
export const messageSignature = (
  name: string,
  first: string,
  signed: SignatureInput,
  key: SigningKey,
): Promise<string> => signatureField(name, first, signed, coveredHeader(signed), key);

/** The part of a signature that is the same for every key. */
interface CoveredHeader {
  /** Value of `h=`. */
  list: string;
  /** The covered fields in canonical form. */
  canonical: string;
}

function coveredHeader({ fields, names = SIGNED_FIELDS, oversigned = ["from"] }: SignatureInput): CoveredHeader {
  const covered = coveredFields(fields, names);
  return {
    list: foldList([...covered.map(([field]) => field), ...oversigned.filter((field) => names.includes(field))]),
    canonical: covered.map(([, field]) => `${relaxedField(field)}\r\n`).join(""),
  };
}

async function signatureField(
  name: string,
  first: string,
  { bodyHash, time, expires }: SignatureInput,
  { list, canonical }: CoveredHeader,
  key: SigningKey,
): Promise<string> {
  const head =
    `${name}: ${first}; a=${algorithmOf(key.key)}; c=relaxed/relaxed;\r\n\td=${key.domain}; s=${key.selector}; t=${time};${expires === undefined ? "" : ` x=${expires};`}` +
    `\r\n\th=${list};\r\n\tbh=${bodyHash};\r\n\tb=`;
  return `${head}${foldValue(await signData(key.key, canonical + relaxedField(head)))}\r\n`;
}

/** RFC 6376 5.4.2: fields with the same name are signed from the bottom up. */
function coveredFields(fields: readonly string[], names: readonly string[]): [name: string, field: string][] {
  const byName = new Map<string, string[]>();
  for (const field of fields) {
    const name = field.slice(0, field.indexOf(":")).trim().toLowerCase();
    if (names.includes(name)) byName.getOrInsertComputed(name, () => []).push(field);
  }
  return names.flatMap((name) =>
    (byName.get(name) ?? [])
      .toReversed()
      .slice(0, MAX_SAME_NAME)
      .map((field): [string, string] => [name, field]),
  );
}

export const algorithmOf = (key: KeyObject): string =>
  key.asymmetricKeyType === "ed25519" ? "ed25519-sha256" : "rsa-sha256";

/** Signs `data`, given as Latin-1 text. RFC 8463 3: Ed25519 signs the hash. */
export async function signData(key: KeyObject, data: string): Promise<string> {
  const bytes = Buffer.from(data, "latin1");
  const signature = await (key.asymmetricKeyType === "ed25519"
    ? sign(null, createHash("sha256").update(bytes).digest(), key)
    : sign("sha256", bytes, key));
  return signature.toString("base64");
}

/** Folds at 78 characters (RFC 5322 2.1.1). */
export function foldValue(value: string): string {
  let text = value.slice(0, 72);
  for (let at = 72; at < value.length; at += 72) text += `\r\n\t${value.slice(at, at + 72)}`;
  return text;
}

function foldList(names: string[]): string {
  let text = "";
  let column = 3;
  for (const [at, name] of names.entries()) {
    const word = at === names.length - 1 ? name : `${name}:`;
    if (column + word.length > 76) {
      text += "\r\n\t";
      column = 8;
    }
    text += word;
    column += word.length;
  }
  return text;
}
