import { createPrivateKey, type KeyObject } from "node:crypto";
import { Fault, messageOf, type Clock } from "../../kernel/index.ts";
import { arcSet, createBodyHash, dkimSignatures, type SigningKey } from "../../protocol/dkim/index.ts";
import { fieldRanges } from "../../protocol/rfc5322/index.ts";
import type { MailSource } from "../messages/index.ts";
import type { Verdict } from "./verdict.ts";

/** A stored DKIM key; `<selector>._domainkey.<domain>` holds its public key. */
export interface PemSigningKey {
  domain: string;
  selector: string;
  /** PEM, PKCS #8 or PKCS #1: RSA of 1024 bits or more, or Ed25519. */
  privateKey: string;
}

export interface Signing {
  /** One signature per key, in this order from the top: the service's domain, then the customer's. */
  dkim?: readonly PemSigningKey[];
  /**
   * An ARC set to add above the signatures of a forwarded message; `verdict` is the verdict reached on its arrival.
   */
  seal?: { key: PemSigningKey; verdict: Pick<Verdict, "arc" | "summary"> };
}

export interface Signer {
  /**
   * Returns the fields to put on top of an outgoing message, including line endings; "" if there is nothing to sign
   * with. A message without From cannot be signed (RFC 6376 5.4) and gets none. Rejects with a Fault for an invalid
   * key.
   */
  sign(source: Pick<MailSource, "headerBlock" | "open">, signing: Signing): Promise<string>;
}

/** Maximum number of cached parsed keys; the oldest is evicted. */
const MAX_KEYS = 1000;

export function createSigner({ clock }: { clock: Pick<Clock, "now"> }): Signer {
  const keys = new Map<string, KeyObject>();

  function readKey({ domain, selector, privateKey }: PemSigningKey): SigningKey {
    let key = keys.get(privateKey);
    if (key === undefined) {
      key = parseKey(privateKey, `${selector}._domainkey.${domain}`);
      if (keys.size >= MAX_KEYS) keys.delete(keys.keys().next().value!);
      keys.set(privateKey, key);
    }
    return { domain, selector, key };
  }

  return {
    async sign(source, { dkim = [], seal }) {
      const fields = fieldsOf(source.headerBlock);
      if ((dkim.length === 0 && seal === undefined) || !fields.some((field) => /^from[ \t]*:/i.test(field))) return "";
      const [signers, sealer] = [dkim.map(readKey), seal && readKey(seal.key)];
      const signed = { fields, bodyHash: await hashBody(source), time: Math.floor(clock.now() / 1000) };
      const signatures = await dkimSignatures(signed, signers);
      const set =
        sealer &&
        (await arcSet({ ...signed, fields: [...signatures, ...fields] }, sealer, {
          chain: seal!.verdict.arc.result,
          results: seal!.verdict.summary,
        }));
      return (set ?? "") + signatures.join("");
    },
  };
}

function parseKey(pem: string, name: string): KeyObject {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (err) {
    throw new Fault(`the private key of ${name} cannot be read: ${messageOf(err)}`, { cause: err });
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== "ed25519" && !(key.asymmetricKeyType === "rsa" && bits >= 1024)) {
    throw new Fault(`the private key of ${name} is neither Ed25519 nor RSA of 1024 bits or more`);
  }
  return key;
}

function fieldsOf(block: Uint8Array): string[] {
  const text = Buffer.from(block.buffer, block.byteOffset, block.length).toString("latin1");
  return [...fieldRanges(block)].map(([start, end]) => text.slice(start, end));
}

/** In chunks, so that a large message in memory does not block other sessions. */
const CHUNK_BYTES = 512 * 1024;

async function hashBody({ headerBlock, open }: Pick<MailSource, "headerBlock" | "open">): Promise<string> {
  const hash = createBodyHash();
  let skippedBytes: number | undefined;
  // The empty line between header and body belongs to neither.
  const push = (chunk: Uint8Array) => {
    if (chunk.length === 0) return;
    skippedBytes ??= chunk[0] === 0x0a ? 1 : 2;
    const from = Math.min(skippedBytes, chunk.length);
    skippedBytes -= from;
    if (from < chunk.length) hash.push(chunk.subarray(from));
  };
  const body = open(headerBlock.length);
  if (!(body instanceof Uint8Array)) for await (const chunk of body as AsyncIterable<Uint8Array>) push(chunk);
  else {
    for (let at = 0; at < body.length; at += CHUNK_BYTES) {
      if (at > 0) await new Promise(setImmediate);
      push(body.subarray(at, at + CHUNK_BYTES));
    }
  }
  return hash.digest();
}
