import type { Envelope } from "../messages/index.ts";
import type { ArcResult, DkimResult, DmarcResult, Results, SpfResult } from "./verdict.ts";

/**
 * The results as header fields: Authentication-Results (RFC 8601), Received-SPF (RFC 7208 9.1), and a private field for
 * quarantined mail. Any text in them may be untrusted.
 */
export const QUARANTINE_FIELD = "X-Reelpost-Quarantine";

/** Returns the folded value of Authentication-Results, without field name and line ending. */
export function authenticationResults(
  { spf, dkim, dmarc, arc }: Results,
  { from, ip }: Pick<Envelope, "from" | "ip">,
  authservId: string,
): string {
  return [authservId, spfWords(spf, from), ...dkim.map(dkimWords), dmarcWords(dmarc), arcWords(arc, ip)].join(
    ";\r\n\t",
  );
}

const spfWords = ({ result, domain, identity, why }: SpfResult, from: string) =>
  `spf=${result}${comment(why)} ${identity === "helo" ? `smtp.helo=${value(domain)}` : `smtp.mailfrom=${PLAIN_ADDRESS.test(from) && from.length <= MAX_VALUE_LENGTH ? from : value(domain)}`}`;

/** Matches addresses that need no quotes in a pvalue (RFC 8601 2.2). */
const PLAIN_ADDRESS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9.-]+$/;

const dkimWords = ({ result, domain, selector, algorithm, signature, why }: DkimResult) =>
  [
    `dkim=${result}${comment(why ?? (result === "none" ? "message not signed" : undefined))}`,
    ...property("header.d", domain),
    ...property("header.s", selector),
    ...property("header.a", algorithm),
    ...property("header.b", signature),
  ].join(" ");

const dmarcWords = ({ result, from, policy, why }: DmarcResult) =>
  [
    `dmarc=${result}${comment(why)}`,
    ...property("header.from", from),
    ...property("policy.dmarc", result === "fail" || result === "pass" ? policy : undefined),
  ].join(" ");

/** RFC 8617 6: includes the source IP address. */
const arcWords = ({ result, instance, why }: ArcResult, ip: string) =>
  [
    `arc=${result}${comment(why ?? (instance > 0 ? `i=${instance}` : undefined))}`,
    ...property("smtp.remote-ip", ip),
  ].join(" ");

/** RFC 7208 9.1, with the keys that help human readers. */
export function receivedSpf(
  { result, domain, identity, why }: SpfResult,
  { from, helo, ip }: Pick<Envelope, "from" | "helo" | "ip">,
  receiver: string,
): string {
  const spfText: Partial<Record<SpfResult["result"], string>> = {
    pass: `domain of ${domain} designates ${ip} as permitted sender`,
    fail: `domain of ${domain} does not designate ${ip} as permitted sender`,
    softfail: `domain of transitioning ${domain} does not designate ${ip} as permitted sender`,
    neutral: `${ip} is neither permitted nor denied by domain of ${domain}`,
    none: `domain of ${domain} does not designate permitted sender hosts`,
  };
  return `Received-SPF: ${result}${comment(`${receiver}: ${spfText[result] ?? why ?? "error in processing"}`)}\r\n\tclient-ip=${value(ip)}; envelope-from=${quote(from)};\r\n\thelo=${value(helo)}; receiver=${value(receiver)}; identity=${identity}\r\n`;
}

export const quarantineField = (why: string): string => `${QUARANTINE_FIELD}: ${printable(why)}\r\n`;

const MAX_VALUE_LENGTH = 250;

const property = (name: string, text: string | undefined): string[] =>
  text === undefined || text === "" ? [] : [`${name}=${value(text)}`];

/** token / quoted-string (RFC 2045 5.1): a slash or an equals sign needs quotes. */
const value = (text: string): string => (/^[A-Za-z0-9._+-]{1,250}$/.test(text) ? text : quote(text));

const quote = (text: string) => `"${printable(text).replace(/["\\]/g, "\\$&")}"`;

/** A comment must not contain parentheses or escapes. */
const comment = (text: string | undefined) =>
  text === undefined || text === ""
    ? ""
    : ` (${printable(text)
        .replace(/[()\\]/g, " ")
        .trim()})`;

const printable = (text: string) => text.replace(/[^ -~]/gu, "?").slice(0, MAX_VALUE_LENGTH);
