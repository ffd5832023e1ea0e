import type { SmtpReply } from "../messages/index.ts";

/** The words of RFC 8601 2.7. */
export type ResultWord = "pass" | "fail" | "softfail" | "neutral" | "none" | "policy" | "temperror" | "permerror";

export interface SpfResult {
  result: ResultWord;
  /** The domain that was asked: of the envelope sender, or of HELO where that is null (RFC 7208 2.4). */
  domain: string;
  identity: "mailfrom" | "helo";
  /** What went wrong, for temperror and permerror. */
  why?: string;
  /** The domain owner's words for a fail (RFC 7208 6.2): text of a stranger. */
  explanation?: string;
}

export interface DkimResult {
  result: ResultWord;
  domain?: string;
  selector?: string;
  algorithm?: string;
  /** The beginning of `b=`, which tells two signatures of one key apart (RFC 6008). */
  signature?: string;
  why?: string;
}

export interface ArcResult {
  result: "none" | "pass" | "fail";
  /** The number of sets. */
  instance: number;
  /** `d=` of the newest seal. */
  sealer?: string;
  /** What the newest set says about the message when it came to the sealer. */
  said?: { spf?: string; dkim: string[]; dmarc?: string };
  why?: string;
}

export interface DmarcResult {
  result: ResultWord;
  /** The author domain; undefined when From does not give exactly one. */
  from?: string;
  /** What the domain owner asks for, subdomain and test tags taken into account. Undefined without a record. */
  policy?: "none" | "quarantine" | "reject";
  /** The domains that line up with the author's. */
  aligned: { spf?: string; dkim?: string };
  why?: string;
}

export interface Results {
  spf: SpfResult;
  /** At least one; "none" for a message without a signature. */
  dkim: DkimResult[];
  dmarc: DmarcResult;
  arc: ArcResult;
}

/** What came out for one message, and what is to be done with it. */
export interface Verdict extends Results {
  accept: boolean;
  /** The message is taken but suspicious; it carries a field that says so. */
  quarantine: boolean;
  /** Why it is refused, put off or set apart. */
  why?: string;
  /** The answer to the peer, when `accept` is false. */
  reply?: SmtpReply;
  /** The value of our Authentication-Results field, without name and line end: what an ARC set of ours repeats. */
  summary: string;
  /** Fields to put on top of the message, line ends included (RFC 8601 4.1). */
  fields: string;
}

/** The verdict as the detail of a trace event. */
export function traceDetail({
  spf,
  dkim,
  dmarc,
  arc,
  accept,
  quarantine,
  why,
  reply,
}: Verdict): Record<string, unknown> {
  return {
    spf: spf.result,
    dkim: dkim.some(({ result }) => result === "pass") ? "pass" : (dkim[0]?.result ?? "none"),
    dmarc: dmarc.result,
    arc: arc.result,
    accept,
    ...(quarantine ? { quarantine } : {}),
    ...(why === undefined ? {} : { why }),
    ...(reply === undefined ? {} : { reply }),
    details: { spf, dkim, dmarc, arc },
  };
}
