import type { DNSResolver } from "mailauth";
import { domainOf } from "../../protocol/rfc5322/index.ts";
import type { AuthorCount } from "./policy.ts";
import { loadLibrary } from "./load-library.ts";
import type { Resolver } from "./resolver.ts";
import type { SignatureResults } from "./signatures.ts";
import type { DmarcResult, ResultWord, SpfResult } from "./verdict.ts";

const POLICIES = ["none", "quarantine", "reject"] as const;

/**
 * Checks DMARC according to RFC 9989 (tree walk, `np`, `t`), for the single author domain that a message must have.
 */
export async function checkDmarc(
  spf: SpfResult,
  { dkim, from, fromFields }: SignatureResults,
  resolver: Resolver,
): Promise<{ dmarc: DmarcResult; authors: AuthorCount }> {
  const { dmarc } = await loadLibrary();
  const dmarcCheck = await dmarc({
    headerFrom: from,
    fromFields,
    spfDomains: spf.result === "pass" ? [spf.domain] : [],
    dkimDomains: dkim.flatMap(({ result, domain }) => (result === "pass" && domain !== undefined ? [{ domain }] : [])),
    resolver: resolver as unknown as DNSResolver,
  });
  if (dmarcCheck === false) {
    const authors = fromFields > 1 || new Set(from.map(domainOf)).size > 1 ? "several" : "none";
    return {
      dmarc: {
        result: "permerror",
        aligned: {},
        why: authors === "none" ? "From has no domain" : "From has several authors",
      },
      authors,
    };
  }
  const { status, alignment, error } = dmarcCheck;
  const policy = POLICIES.find((candidate) => candidate === dmarcCheck.policy);
  const [spfAlignment, dkimAlignment] = [alignment?.spf.result, alignment?.dkim.result];
  return {
    dmarc: {
      result: status.result as ResultWord,
      ...(status.header?.from === undefined ? {} : { from: status.header.from }),
      ...(policy === undefined ? {} : { policy }),
      aligned: {
        ...(spfAlignment === undefined ? {} : { spf: spfAlignment }),
        ...(dkimAlignment === undefined ? {} : { dkim: dkimAlignment }),
      },
      ...(error === undefined ? {} : { why: error }),
    },
    authors: "one",
  };
}
