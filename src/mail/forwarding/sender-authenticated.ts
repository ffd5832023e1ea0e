import { domainOf } from "../../protocol/rfc5322/index.ts";
import type { Verdict } from "../authenticate/index.ts";
import type { Envelope } from "../messages/index.ts";

/**
 * Returns true if the envelope sender is authenticated: SPF passes for it, or a DKIM signature of its domain or a
 * parent domain passes. Only such a sender gets delivery reports; a report to any other would be backscatter. The null
 * sender is never authenticated.
 */
export function isAuthenticatedSender(
  { from }: Pick<Envelope, "from">,
  verdict: Pick<Verdict, "spf" | "dkim"> | undefined,
): boolean {
  if (from === "" || verdict === undefined) return false;
  const { spf, dkim } = verdict;
  if (spf.identity === "mailfrom" && spf.result === "pass") return true;
  const domain = domainOf(from).toLowerCase();
  return dkim.some(
    (dkimResult) =>
      dkimResult.result === "pass" &&
      dkimResult.domain !== undefined &&
      isWithin(domain, dkimResult.domain.toLowerCase()),
  );
}

/**
 * True if the author of a message is authenticated: DMARC passes or, for a domain without a policy, the envelope sender
 * is authenticated.
 */
export function isAuthorAuthenticated(
  envelope: Pick<Envelope, "from">,
  verdict: Pick<Verdict, "spf" | "dkim" | "dmarc">,
): boolean {
  return (
    verdict.dmarc.result === "pass" || (verdict.dmarc.result === "none" && isAuthenticatedSender(envelope, verdict))
  );
}

const isWithin = (domain: string, parent: string) => domain === parent || domain.endsWith(`.${parent}`);
