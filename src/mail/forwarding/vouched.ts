import { domainOf } from "../../protocol/rfc5322/index.ts";
import type { Verdict } from "../authenticate/index.ts";
import type { Envelope } from "../messages/index.ts";

/**
 * Whether the envelope sender is who it seems to be: its own domain names the peer (SPF), or a signature of its domain or of one above holds.
 * Only such a sender is told of failures; to tell anybody else is backscatter. The null sender is nobody.
 */
export function isVouchedFor(
  { from }: Pick<Envelope, "from">,
  verdict: Pick<Verdict, "spf" | "dkim"> | undefined,
): boolean {
  if (from === "" || verdict === undefined) return false;
  const { spf, dkim } = verdict;
  if (spf.identity === "mailfrom" && spf.result === "pass") return true;
  const domain = domainOf(from).toLowerCase();
  return dkim.some(
    (one) => one.result === "pass" && one.domain !== undefined && isWithin(domain, one.domain.toLowerCase()),
  );
}

/** True if the author of a message is authenticated: DMARC passes or, for a domain without a policy, the envelope sender is authenticated. */
export function isAuthorAuthenticated(
  envelope: Pick<Envelope, "from">,
  verdict: Pick<Verdict, "spf" | "dkim" | "dmarc">,
): boolean {
  return verdict.dmarc.result === "pass" || (verdict.dmarc.result === "none" && isVouchedFor(envelope, verdict));
}

const isWithin = (domain: string, parent: string) => domain === parent || domain.endsWith(`.${parent}`);
