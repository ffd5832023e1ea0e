import type { SmtpReply } from "../../messages/index.ts";
import type { RecipientResult } from "../types.ts";

const MAX_TEXT_LENGTH = 1000;

/**
 * Parses a reply of one or more lines: `550-5.7.1 not`, `550 5.7.1 you` -> 550, "5.7.1", "not you". The enhanced code
 * is the peer's; if it is missing (RFC 2034 is an extension), x.0.0 is used. Undefined for an invalid reply.
 */
export function parseReply(raw: string): SmtpReply | undefined {
  const lines = raw.split(/\r?\n/).filter((line) => line !== "");
  const code = Number(/^[2-5]\d\d(?=[ -]|$)/.exec(lines[0] ?? "")?.[0]);
  if (!code) return undefined;
  let enhanced: string | undefined;
  const textLines = lines.map((line) => {
    const text = line.replace(/^\d{3}[ -]?/, "");
    const statusMatch = /^([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)/.exec(text);
    enhanced ??= statusMatch?.[1];
    return statusMatch === null ? text : text.slice(statusMatch[0].length);
  });
  return { code, enhanced: enhanced ?? `${String(code)[0]}.0.0`, text: clean(textLines.join(" ")) };
}

/** A reply can contain anything, so it is reduced to one line that every database and log accepts. */
export const clean = (text: string): string =>
  text
    .replace(/[\p{Cc}\p{Cs}]+/gu, " ")
    .trim()
    .slice(0, MAX_TEXT_LENGTH);

export type TransactionStep = "MAIL" | "RCPT" | "DATA" | "message";

/**
 * Returns the meaning of a reply for the recipient (RFC 5321 4.2.1), with the three codes whose meaning differs from
 * their first digit.
 */
export function replyOutcome({ code, enhanced }: SmtpReply, command: TransactionStep): RecipientResult["outcome"] {
  if (code >= 200 && code < 300) return "delivered";
  if (code < 500) return "temporary";
  // The session was out of sequence; the message may succeed in the next one.
  if (code === 503) return "temporary";
  // RFC 5321 4.5.3.1.10: 552 to RCPT once meant "too many recipients".
  if (code === 552 && command === "RCPT" && (enhanced === "5.5.3" || enhanced === "5.0.0")) return "temporary";
  return "permanent";
}

/**
 * "Too many recipients": earlier recipients are accepted, and the rest may follow in a separate transaction (RFC 5321
 * 4.5.3.1.10).
 */
export const isTooManyRecipients = ({ code, enhanced }: SmtpReply): boolean =>
  (code === 452 && (enhanced === "4.5.3" || enhanced === "4.0.0")) ||
  (code === 552 && (enhanced === "5.5.3" || enhanced === "5.0.0"));

export const reply = (code: number, enhanced: string, text: string): SmtpReply => ({
  code,
  enhanced,
  text: clean(text),
});
