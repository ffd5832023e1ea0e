import type { AuthenticationCheck, Entry } from "./types.ts";

interface ExplainedCheck extends AuthenticationCheck {
  /** One sentence. */
  explanation: string;
}

/** Returns the authentication results of a message, each with a sentence that says what it means. */
export function explainAuthentication({
  checks,
  spf,
  dkim,
  dmarc,
  arc,
  ip,
}: Pick<Entry, "checks" | "spf" | "dkim" | "dmarc" | "arc" | "ip">): ExplainedCheck[] {
  // Entries of earlier versions have only the results.
  const known: AuthenticationCheck[] =
    checks ??
    Object.entries({ spf, dkim, dmarc, arc }).flatMap(([method, result]) =>
      result === null ? [] : [{ method: method as AuthenticationCheck["method"], result }],
    );
  return known.map((check) => ({ ...check, explanation: EXPLAIN[check.method](check, ip ?? "the sending server") }));
}

const EXPLAIN: Record<AuthenticationCheck["method"], (check: AuthenticationCheck, ip: string) => string> = {
  spf({ result, domain = "the sender's domain", why }, ip) {
    switch (result) {
      case "pass":
        return `${domain} allows ${ip} to send its mail.`;
      case "fail":
        return `${domain} does not allow ${ip} to send its mail.`;
      case "softfail":
        return `${domain} states that ${ip} is probably not allowed to send its mail.`;
      case "neutral":
        return `${domain} does not state whether ${ip} may send its mail.`;
      case "none":
        return `${domain} has no SPF record.`;
      case "temperror":
        return `The SPF record of ${domain} could not be read${reasonOf(why)}.`;
      default:
        return `The SPF record of ${domain} is invalid${reasonOf(why)}.`;
    }
  },
  dkim({ result, domain, selector, why }) {
    const signature =
      domain === undefined
        ? "The DKIM signature"
        : `The DKIM signature of ${domain}${selector === undefined ? "" : ` (selector ${selector})`}`;
    switch (result) {
      case "pass":
        return `${signature} is valid: the message has not been changed since it was signed.`;
      case "fail":
        return `${signature} does not match the message${reasonOf(why)}.`;
      case "none":
        return "The message has no DKIM signature.";
      case "policy":
        return `${signature} is not accepted${reasonOf(why)}.`;
      case "temperror":
        return `${signature} could not be verified, because its key could not be read${reasonOf(why)}.`;
      default:
        return `${signature} could not be evaluated${reasonOf(why)}.`;
    }
  },
  dmarc({ result, domain = "the author's domain", policy, aligned, why }) {
    switch (result) {
      case "pass":
        return `The author domain ${domain} is authenticated${aligned === undefined ? "" : ` by ${aligned}`}.`;
      case "fail":
        return `Neither SPF nor DKIM authenticates the author domain ${domain}${policy === undefined ? "" : `, which requests the policy ${policy}`}.`;
      case "none":
        return `${domain} has no DMARC record.`;
      case "temperror":
        return `The DMARC record of ${domain} could not be read${reasonOf(why)}.`;
      default:
        return `DMARC could not be evaluated for ${domain}${reasonOf(why)}.`;
    }
  },
  arc({ result, domain, why }) {
    switch (result) {
      case "pass":
        return `The ARC chain is valid${domain === undefined ? "" : `; ${domain} sealed it last`}.`;
      case "fail":
        return `The ARC chain is broken${reasonOf(why)}.`;
      default:
        return "The message has no ARC set: no forwarder has sealed it.";
    }
  },
};

const reasonOf = (why: string | undefined) => (why === undefined || why === "" ? "" : `: ${why.replace(/\.$/, "")}`);
