import type { UserError } from "../../kernel/index.ts";
import { mailErrors } from "../errors.ts";
import type { ArcResult, DkimResult, Results } from "./verdict.ts";

type Action = "accept" | "quarantine" | "reject";

/** How to act on the results. The defaults are those of the hosted service. */
export interface AuthenticationPolicy {
  /** A message needs an SPF pass or one valid DKIM signature. Default "spf-or-dkim". */
  require: "spf-or-dkim" | "nothing";
  /**
   * True if this also applies to mail from the null sender: bounces are often sent from names without an SPF record.
   * Default true.
   */
  requireOfBounces: boolean;
  /** Action on an SPF fail (`-all`) if DKIM passes. Default "accept". */
  spfFail: Action;
  /** Action on a DMARC fail for each policy that a domain owner can request. Default: as requested. */
  dmarcFail: { none: Action; quarantine: Action; reject: Action };
  /** Action if a DNS query fails and the outcome depends on it. Default "defer". */
  temporary: "defer" | "accept";
  /**
   * Action for a message whose From has no domain, so that no one is responsible for it (RFC 9989 11.5). Default
   * "quarantine".
   */
  noAuthor: Action;
  /** Action for a message with several From fields, or with authors from several domains. Default "reject". */
  severalAuthors: Action;
  /**
   * Domains whose ARC seal overrides a DMARC fail, if the seal reports that the message passed on arrival there (RFC
   * 8617 7.2.1). Default none.
   */
  trustedSealers: readonly string[];
  /**
   * How to treat a DKIM signature over only the beginning of the body (`l=`, RFC 6376 8.2): arbitrary text may follow.
   * Default "ignore".
   */
  partialBody: "ignore" | "accept";
}

export const DEFAULT_AUTHENTICATION_POLICY: AuthenticationPolicy = {
  require: "spf-or-dkim",
  requireOfBounces: true,
  spfFail: "accept",
  dmarcFail: { none: "accept", quarantine: "quarantine", reject: "reject" },
  temporary: "defer",
  noAuthor: "quarantine",
  severalAuthors: "reject",
  trustedSealers: [],
  partialBody: "ignore",
};

/** Number of authors in From. */
export type AuthorCount = "one" | "none" | "several";

type Decision = { kind: "accept" } | { kind: "quarantine"; why: string } | { kind: "refuse"; error: UserError };

interface Case extends Results {
  authors: AuthorCount;
  ip: string;
}

const ACCEPT: Decision = { kind: "accept" };

export function decide(mail: Case, policy: AuthenticationPolicy): Decision {
  const verdicts = [
    checkAuthors(mail, policy),
    checkDmarc(mail, policy),
    checkRequired(mail, policy),
    checkSpfFail(mail, policy),
  ];
  // Permanent rejections take precedence over temporary ones.
  const refusals = verdicts.flatMap((verdict) => (verdict.kind === "refuse" ? [verdict] : []));
  const finalRefusal = refusals.find(({ error }) => (error.entry.smtp ?? 0) >= 500);
  return finalRefusal ?? refusals[0] ?? verdicts.find(({ kind }) => kind === "quarantine") ?? ACCEPT;
}

function checkAuthors({ authors }: Case, { noAuthor, severalAuthors }: AuthenticationPolicy): Decision {
  if (authors === "one") return ACCEPT;
  const what = authors === "none" ? "no author's domain" : "several authors";
  return act(authors === "none" ? noAuthor : severalAuthors, `From has ${what}`, () =>
    mailErrors.authorUnclear({ what }),
  );
}

function checkDmarc({ spf, dkim, dmarc, arc }: Case, policy: AuthenticationPolicy): Decision {
  if (dmarc.result === "temperror") return decideUnclear(`the DMARC policy of ${dmarc.from}`, policy);
  if (dmarc.result !== "fail") return ACCEPT;
  const action = policy.dmarcFail[dmarc.policy ?? "none"];
  if (action === "accept" || isSealedByTrusted(arc, policy)) return ACCEPT;
  // RFC 7489 6.6.2, RFC 9989 5.3: an identifier whose lookup failed might have aligned.
  if (policy.temporary === "defer" && [spf, ...dkim].some(isTemporary))
    return decideUnclear(`whether ${dmarc.from} authorized the message`, policy);
  return act(action, `DMARC fails for ${dmarc.from}, whose policy is ${dmarc.policy}`, () =>
    mailErrors.dmarcRejected({ domain: dmarc.from }),
  );
}

function isSealedByTrusted({ result, sealer, said }: ArcResult, { trustedSealers }: AuthenticationPolicy): boolean {
  return (
    result === "pass" &&
    sealer !== undefined &&
    trustedSealers.some((domain) => domain.toLowerCase() === sealer.toLowerCase()) &&
    said?.dmarc === "pass"
  );
}

function checkRequired({ spf, dkim, ip }: Case, policy: AuthenticationPolicy): Decision {
  if (policy.require === "nothing" || (spf.identity === "helo" && !policy.requireOfBounces)) return ACCEPT;
  if (spf.result === "pass" || dkim.some(({ result }) => result === "pass")) return ACCEPT;
  if ([spf, ...dkim].some(isTemporary))
    return decideUnclear(
      spf.result === "temperror"
        ? `the SPF record of ${spf.domain}`
        : `the DKIM key of ${dkim.find(isTemporary)?.domain}`,
      policy,
    );
  return {
    kind: "refuse",
    error: mailErrors.notAuthenticated({ domain: spf.domain, ip, spf: spf.result, dkim: dkim[0]?.result ?? "none" }),
  };
}

function checkSpfFail({ spf, ip }: Case, { spfFail }: AuthenticationPolicy): Decision {
  if (spf.result !== "fail") return ACCEPT;
  return act(spfFail, `SPF fails for ${spf.domain}`, () => mailErrors.spfRejected({ domain: spf.domain, ip }));
}

const isTemporary = ({ result }: Pick<DkimResult, "result">) => result === "temperror";

function act(action: Action, why: string, createError: () => UserError): Decision {
  if (action === "reject") return { kind: "refuse", error: createError() };
  return action === "quarantine" ? { kind: "quarantine", why } : ACCEPT;
}

const decideUnclear = (what: string, { temporary }: AuthenticationPolicy): Decision =>
  temporary === "accept" ? ACCEPT : { kind: "refuse", error: mailErrors.authenticationUnclear({ what }) };
