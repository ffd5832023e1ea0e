import type { SmtpReply } from "../messages/index.ts";

/** The result names of RFC 8601 2.7. */
export type ResultWord = "pass" | "fail" | "softfail" | "neutral" | "none" | "policy" | "temperror" | "permerror";

export interface SpfResult {
  result: ResultWord;
  /** The domain that was checked: from the envelope sender, or from HELO if the sender is null (RFC 7208 2.4). */
  domain: string;
  identity: "mailfrom" | "helo";
  /** The error, for temperror and permerror. */
  why?: string;
  /** The domain owner's explanation of a fail (RFC 7208 6.2): untrusted text. */
  explanation?: string;
}

export interface DkimResult {
  result: ResultWord;
  domain?: string;
  selector?: string;
  algorithm?: string;
  /** The beginning of `b=`, which distinguishes two signatures with one key (RFC 6008). */
  signature?: string;
  why?: string;
}

export interface ArcResult {
  result: "none" | "pass" | "fail";
  /** Number of ARC sets. */
  instance: number;
  /** `d=` of the newest seal. */
  sealer?: string;
  /** Results that the newest set reports for the arrival at the sealer. */
  said?: { spf?: string; dkim: string[]; dmarc?: string };
  why?: string;
}

export interface DmarcResult {
  result: ResultWord;
  /** The author domain; undefined unless From contains exactly one. */
  from?: string;
  /** The policy of the domain owner, with subdomain and test tags applied. Undefined without a record. */
  policy?: "none" | "quarantine" | "reject";
  /** The domains aligned with the author domain. */
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

/** Authentication results of one message, and the decision. */
export interface Verdict extends Results {
  accept: boolean;
  /** The message is accepted but suspicious; a header field marks it. */
  quarantine: boolean;
  /** Reason for a rejection, deferral or quarantine. */
  why?: string;
  /** SMTP reply to the peer if `accept` is false. */
  reply?: SmtpReply;
  /** The value of the Authentication-Results field, without field name and line ending; an added ARC set repeats it. */
  summary: string;
  /** Fields to put on top of the message, including line endings (RFC 8601 4.1). */
  fields: string;
}

/** Returns the verdict as the detail of a trace event. */
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
