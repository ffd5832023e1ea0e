import type { DeliveryResult, SmtpReply } from "../messages/index.ts";

/**
 * Builds the single SMTP reply from the results of `createPartialDelivery` (in retry), which has already turned
 * failures into successes where another recipient has the message. The reply is 250 if nothing failed, otherwise the
 * first 4xx reply, otherwise the first 5xx reply. The text contains the failed recipients, so that the sender's bounce
 * contains them too.
 */
export function combineReplies(deliveryResults: DeliveryResult[]): SmtpReply {
  const failedResults = deliveryResults.filter((result) => !result.ok);
  if (failedResults.length === 0) return { code: 250, enhanced: "2.6.0", text: "Message accepted" };
  const first = failedResults.find((result) => result.temporary) ?? failedResults[0]!;
  if (deliveryResults.length === 1) return first.reply;
  const failedAddresses = failedResults
    .filter((result) => result.temporary === first.temporary)
    .map((result) => `<${result.rcpt}>`);
  const othersNote = failedResults.length === deliveryResults.length ? "" : "; the other recipients received it";
  return {
    ...first.reply,
    text: `${first.reply.text} (${failedAddresses.slice(0, 5).join(" ")}${failedAddresses.length > 5 ? ` and ${failedAddresses.length - 5} more` : ""}${othersNote})`,
  };
}
