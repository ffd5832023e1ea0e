import type { Settled, SmtpReply } from "../messages/types.ts";

/**
 * One answer for a message to several recipients, since SMTP has one reply after DATA (RFC 5321 4.1.1.4). The rule loses nothing:
 *
 *  - all went well: 250.
 *  - any failed for now: 4xx. The sender keeps the message and offers it again to all of them; a recipient that had it sees it twice.
 *  - otherwise any was refused for good: 5xx, and the text names them, so that the sender's bounce does too.
 */
export function foldReplies(settled: Settled[]): SmtpReply {
  const failed = settled.filter((one) => !one.ok);
  if (failed.length === 0) return { code: 250, enhanced: "2.6.0", text: "Message accepted" };
  const first = failed.find((one) => one.temporary) ?? failed[0]!;
  if (settled.length === 1) return first.reply;
  const named = failed.filter((one) => one.temporary === first.temporary).map((one) => `<${one.rcpt}>`);
  const others = failed.length === settled.length ? "" : "; the other recipients have it";
  return {
    ...first.reply,
    text: `${first.reply.text} (${named.slice(0, 5).join(" ")}${named.length > 5 ? ` and ${named.length - 5} more` : ""}${others})`,
  };
}
