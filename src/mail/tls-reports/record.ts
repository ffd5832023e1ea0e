import { parseAddress } from "../../protocol/rfc5322/index.ts";

/** Report address of a domain (RFC 8460 3). */
export type ReportTarget = { kind: "mail"; address: string } | { kind: "https"; url: string };

/** A record may list more; the RFC lets a sender choose. */
const MAX_TARGETS = 3;
const MAX_RECORD_LENGTH = 4096;

/** Returns the targets in the TXT records of `_smtp._tls.<domain>`; empty unless exactly one is a TLSRPT record. */
export function readTlsrptRecord(texts: readonly string[]): ReportTarget[] {
  const records = texts.filter((text) => text.length <= MAX_RECORD_LENGTH && /^v=TLSRPTv1[ \t]*;/.test(text));
  if (records.length !== 1) return [];
  const rua = records[0]!
    .split(";")
    .map((field) => field.trim())
    .find((field) => field.startsWith("rua="));
  const targets = (rua ?? "").slice("rua=".length).split(",").map(targetOf);
  const uniqueTargets = new Map(
    targets.flatMap((target) => (target === undefined ? [] : [[reportTargetUri(target), target]])),
  );
  return [...uniqueTargets.values()].slice(0, MAX_TARGETS);
}

export const reportTargetUri = (target: ReportTarget): string =>
  target.kind === "mail" ? `mailto:${target.address}` : target.url;

function targetOf(text: string): ReportTarget | undefined {
  const uri = text.trim();
  if (/^https:\/\//i.test(uri)) {
    const url = URL.parse(uri);
    return url === null ? undefined : { kind: "https", url: url.href };
  }
  const [, encodedAddress] = /^mailto:([^?]+)/i.exec(uri) ?? [];
  if (encodedAddress === undefined) return undefined;
  try {
    const address = parseAddress(decodeURIComponent(encodedAddress))?.address;
    return address === undefined ? undefined : { kind: "mail", address };
  } catch {
    return undefined;
  }
}
