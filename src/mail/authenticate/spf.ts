import type { DNSResolver } from "mailauth";
import type { Envelope } from "../messages/index.ts";
import { loadLibrary } from "./load-library.ts";
import type { Resolver } from "./resolver.ts";
import type { ResultWord, SpfResult } from "./verdict.ts";

/** Performs check_host() of RFC 7208 for the envelope sender, or for HELO if the sender is null (2.4). */
export async function checkSpf(
  { from, helo, ip }: Pick<Envelope, "from" | "helo" | "ip">,
  resolver: Resolver,
  receiver: string,
): Promise<SpfResult> {
  const { spf } = await loadLibrary();
  const spfCheck = await spf({
    sender: from,
    ip,
    helo,
    mta: receiver,
    resolver: resolver as unknown as DNSResolver,
    strict: true,
  });
  const result = spfCheck.status.result as ResultWord;
  return {
    result,
    domain: spfCheck.domain,
    identity: from === "" ? "helo" : "mailfrom",
    ...(result === "temperror" || result === "permerror" ? { why: whyOf(spfCheck.status.comment) } : {}),
    ...(spfCheck.explanation === undefined
      ? {}
      : { explanation: spfCheck.explanation.replace(/[^ -~]/g, "?").slice(0, 500) }),
  };
}

/** The library's comment starts with the checking host and the identity, which our code adds separately. */
const whyOf = (comment = "") => comment.replace(/^.*? lookup of \S*:? ?/, "").slice(0, 200) || "error in processing";
