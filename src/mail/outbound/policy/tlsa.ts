import { createHash, X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { SessionFailure } from "../smtp/failure.ts";
import { reply } from "../smtp/replies.ts";
import type { TlsFailureType } from "../types.ts";

/** A TLSA record (RFC 6698 2.1). */
export interface Tlsa {
  usage: number;
  selector: number;
  matchingType: number;
  certificate: Uint8Array;
}

/** Parses the fields of a TLSA DNS record (see checkData in protocol/dns). */
export function readTlsa(data: unknown): Tlsa {
  const { usage, selector, matching_type, certificate } = data as Record<
    "usage" | "selector" | "matching_type",
    number
  > & {
    certificate: string;
  };
  return { usage, selector, matchingType: matching_type, certificate: Buffer.from(certificate, "hex") };
}

const [TRUST_ANCHOR, END_ENTITY] = [2, 3];
const HASHES: Record<number, { name: string; octets: number }> = {
  1: { name: "sha256", octets: 32 },
  2: { name: "sha512", octets: 64 },
};
const MAX_CHAIN_LENGTH = 10;

/** RFC 7672 3.1.3: usages 0 and 1 refer to authorities that mail servers do not share. */
export function isUsable({ usage, selector, matchingType, certificate }: Tlsa): boolean {
  if ((usage !== TRUST_ANCHOR && usage !== END_ENTITY) || (selector !== 0 && selector !== 1)) return false;
  return matchingType === 0 ? certificate.length > 0 : HASHES[matchingType]?.octets === certificate.length;
}

/**
 * Throws SessionFailure if no record matches the server's certificate. `names`: the names allowed in a certificate
 * under a trust anchor.
 */
export function checkTlsa(socket: TLSSocket, records: Tlsa[], names: string[]): void {
  const chain = chainOf(socket.getPeerX509Certificate());
  const [leaf] = chain;
  if (leaf === undefined)
    throw toSessionFailure({ type: "certificate-not-trusted", reason: "it presented no certificate" });
  // RFC 7672 3.1.1: the name and dates of such a certificate are ignored.
  if (records.some((record) => record.usage === END_ENTITY && matches(record, leaf))) return;
  const anchors = records.filter(({ usage }) => usage === TRUST_ANCHOR);
  const refusal: TlsaFailure | undefined =
    anchors.length === 0
      ? { type: "tlsa-invalid", reason: "no TLSA record matches its certificate" }
      : whyNotAnchored(chain, anchors, names, new Date());
  if (refusal !== undefined) throw toSessionFailure(refusal);
}

interface TlsaFailure {
  type: TlsFailureType;
  reason: string;
}

const toSessionFailure = ({ type, reason }: TlsaFailure) =>
  new SessionFailure(reply(451, "4.7.5", `DANE: ${reason}`), { tls: true, tlsFailure: { type, reason } });

/** Formats a record as in RFC 6698 2.2. */
export const formatTlsa = ({ usage, selector, matchingType, certificate }: Tlsa): string =>
  `${usage} ${selector} ${matchingType} ${Buffer.from(certificate).toString("hex")}`;

/** Returns the certificates in the order sent by the server, each followed by its issuer's. */
function chainOf(leaf: X509Certificate | undefined): X509Certificate[] {
  const chain: X509Certificate[] = [];
  for (
    let chainCertificate = leaf;
    chainCertificate !== undefined && chain.length < MAX_CHAIN_LENGTH;
    chainCertificate = chainCertificate.issuerCertificate
  ) {
    if (chain.at(-1)?.fingerprint256 === chainCertificate.fingerprint256) break;
    chain.push(chainCertificate);
  }
  return chain;
}

function matches({ selector, matchingType, certificate }: Tlsa, candidate: X509Certificate): boolean {
  const octets = selector === 0 ? candidate.raw : candidate.publicKey.export({ type: "spki", format: "der" });
  const hash = HASHES[matchingType];
  return Buffer.from(certificate).equals(hash === undefined ? octets : createHash(hash.name).update(octets).digest());
}

/**
 * RFC 7672 3.1.2, 3.2.2: checks that every link from the server's certificate up to one matched by a record is
 * currently valid, and that the server's certificate contains the server's name.
 */
function whyNotAnchored(
  chain: X509Certificate[],
  anchors: Tlsa[],
  names: string[],
  now: Date,
): TlsaFailure | undefined {
  const [leaf] = chain as [X509Certificate];
  const fullChain = withAnchor(chain, anchors);
  const anchorDepth = fullChain.findIndex(
    (chainCertificate, depth) => depth > 0 && anchors.some((record) => matches(record, chainCertificate)),
  );
  if (anchorDepth === -1) return { type: "tlsa-invalid", reason: "no TLSA record matches a certificate in its chain" };
  for (const [depth, one] of fullChain.slice(0, anchorDepth).entries()) {
    const issuer = fullChain[depth + 1]!;
    if (!issuer.ca || !one.checkIssued(issuer) || !one.verify(issuer.publicKey))
      return {
        type: "certificate-not-trusted",
        reason: "its certificate chain does not verify up to the trust anchor",
      };
    if (now < one.validFromDate || now > one.validToDate)
      return { type: "certificate-expired", reason: "a certificate in its chain has expired or is not yet valid" };
  }
  // "*" matches one whole label only (3.2.2).
  if (!names.some((name) => leaf.checkHost(name, { subject: "never", partialWildcards: false }) !== undefined))
    return { type: "certificate-host-mismatch", reason: `its certificate matches none of ${names.join(", ")}` };
  return undefined;
}

/** RFC 7671 5.2.2: an anchor published in full in DNS need not be sent. */
function withAnchor(chain: X509Certificate[], anchors: Tlsa[]): X509Certificate[] {
  const last = chain.at(-1)!;
  for (const { selector, matchingType, certificate } of anchors) {
    if (selector !== 0 || matchingType !== 0 || Buffer.from(certificate).equals(last.raw)) continue;
    try {
      const anchor = new X509Certificate(certificate);
      if (last.checkIssued(anchor)) return [...chain, anchor];
    } catch {
      // This is not a valid certificate, so it cannot be an anchor.
    }
  }
  return chain;
}
