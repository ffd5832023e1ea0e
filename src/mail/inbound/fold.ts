import type { DeliveryResult, SmtpReply } from "../messages/index.ts";

/**
 * Builds the single SMTP reply from the results of `createPartialDelivery` (in retry), which has already turned
 * failures into successes where another recipient has the message. The reply is 250 without failures, else the first
 * 4xx, else the first 5xx. The text contains the failed recipients, so that the sender's bounce does too.
 */
export function combineReplies(settled: DeliveryResult[]): SmtpReply {
  const failed = settled.filter((one) => !one.ok);
  if (failed.length === 0) return { code: 250, enhanced: "2.6.0", text: "Message accepted" };
  const first = failed.find((one) => one.temporary) ?? failed[0]!;
  if (settled.length === 1) return first.reply;
  const named = failed.filter((one) => one.temporary === first.temporary).map((one) => `<${one.rcpt}>`);
  const others = failed.length === settled.length ? "" : "; the other recipients received it";
  return {
    ...first.reply,
    text: `${first.reply.text} (${named.slice(0, 5).join(" ")}${named.length > 5 ? ` and ${named.length - 5} more` : ""}${others})`,
  };
}
