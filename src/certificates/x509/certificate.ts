import { createPublicKey, randomBytes, sign, type KeyObject } from "node:crypto";
import {
  bits,
  context,
  contextPrimitive,
  integer,
  octets,
  oid,
  sequence,
  set,
  time,
  utf8,
  booleanTrue,
  type Der,
} from "./der.ts";

const ECDSA_WITH_SHA256 = sequence(oid("1.2.840.10045.4.3.2"));

interface CertificateDraft {
  /** Host names; the first one is also the subject. */
  names: readonly string[];
  /** Milliseconds since the Unix epoch. */
  notBefore: number;
  notAfter: number;
  /** Private key on P-256. */
  key: KeyObject;
  /** True if the certificate may sign other certificates. */
  authority?: boolean;
  /** True if the certificate also authenticates TLS clients. */
  forClients?: boolean;
}

/** Returns a certificate (RFC 5280) in DER, self-signed or signed by `issuer`. */
export function certificate(draft: CertificateDraft, issuer: Pick<CertificateDraft, "names" | "key"> = draft): Der {
  const { names, notBefore, notAfter, key, authority = false, forClients = false } = draft;
  const basicConstraints = sequence(
    oid("2.5.29.19"),
    booleanTrue,
    octets(authority ? sequence(booleanTrue) : sequence()),
  );
  const purposes = [oid("1.3.6.1.5.5.7.3.1"), ...(forClients ? [oid("1.3.6.1.5.5.7.3.2")] : [])];
  const extendedKeyUsage = sequence(oid("2.5.29.37"), octets(sequence(...purposes)));
  const content = sequence(
    context(0, integer(Buffer.of(2))),
    // 4.1.2.2: positive, at most 20 octets.
    integer(Buffer.concat([Buffer.of(0x40), randomBytes(15)])),
    ECDSA_WITH_SHA256,
    commonName(issuer.names[0]!),
    sequence(time(notBefore), time(notAfter)),
    commonName(names[0]!),
    publicKeyOf(key),
    context(3, sequence(basicConstraints, ...(authority ? [] : [extendedKeyUsage]), subjectAltName(names))),
  );
  return signed(content, issuer.key);
}

/**
 * Returns a certificate signing request (PKCS #10, RFC 2986) in DER. The names are in the attribute extensionRequest
 * (RFC 2985 5.4.2); the subject is empty.
 */
export function certificateRequest(names: readonly string[], key: KeyObject): Der {
  const requestedExtensions = context(0, sequence(oid("1.2.840.113549.1.9.14"), set(sequence(subjectAltName(names)))));
  return signed(sequence(integer(Buffer.of(0)), sequence(), publicKeyOf(key), requestedExtensions), key);
}

const signed = (content: Der, key: KeyObject): Der =>
  sequence(content, ECDSA_WITH_SHA256, bits(sign("sha256", content, key)));
const publicKeyOf = (key: KeyObject): Der => createPublicKey(key).export({ type: "spki", format: "der" });
const subjectAltName = (names: readonly string[]): Der =>
  sequence(
    oid("2.5.29.17"),
    octets(sequence(...names.map((name) => contextPrimitive(2, Buffer.from(name, "latin1"))))),
  );
/** At most 64 characters (RFC 5280 A.1, ub-common-name). */
const commonName = (name: string): Der => sequence(set(sequence(oid("2.5.4.3"), utf8(name.slice(0, 64)))));
