import { X509Certificate } from "node:crypto";
import type { CertificateRow } from "./certificates-table.ts";

/** A certificate, for display. Times in epoch milliseconds. */
export interface DescribedCertificate {
  names: string[];
  source: "file" | "acme" | "self-signed";
  issuer: string | null;
  /** Null if not issued yet. */
  notBefore: number | null;
  notAfter: number | null;
  /** Null if this server does not renew it. */
  renewsAt: number | null;
  /** The reason why the last attempt to issue it failed. */
  error: string | null;
}

export function describeCertificate(
  { cert }: { cert: string },
  source: DescribedCertificate["source"],
): DescribedCertificate {
  const leaf = new X509Certificate(cert);
  return {
    names: (leaf.subjectAltName ?? "")
      .split(", ")
      .filter((name) => name.startsWith("DNS:"))
      .map((name) => name.slice(4)),
    source,
    issuer: /(?:^|\n)(?:O|CN)=([^\n]+)/.exec(leaf.issuer)?.[1] ?? null,
    notBefore: leaf.validFromDate.getTime(),
    notAfter: leaf.validToDate.getTime(),
    renewsAt: null,
    error: null,
  };
}

export const describeRow = ({
  names,
  chain,
  not_after: notAfter,
  next_at: renewsAt,
  error,
}: Pick<CertificateRow, "names" | "chain" | "not_after" | "next_at" | "error">): DescribedCertificate => ({
  ...(chain === null
    ? { source: "acme", issuer: null, notBefore: null, notAfter }
    : describeCertificate({ cert: chain }, "acme")),
  names: JSON.parse(names) as string[],
  renewsAt,
  error,
});
