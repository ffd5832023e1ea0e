import { Fault, type Clock, type Ids } from "../../kernel/index.ts";
import { domainOf, parseMailbox } from "../../protocol/rfc5322/index.ts";
import type { Transport } from "../messages/index.ts";
import { compose } from "../sending/index.ts";

export interface SystemMessageDeps {
  transport: Transport;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "messageId">;
  /** The sender: `"Reelpost" <noreply@example.com>`. */
  from: string;
}

interface SystemMessage {
  to: string;
  subject: string;
  /** Creates the text for the parsed address. */
  text: (address: string) => string;
}

/** A message that was not accepted; for error messages. */
interface Refusal {
  temporary: boolean;
  details: { address: string; reply: string; from: string };
}

/** Sends a message of the server to one recipient. Resolves with undefined if it was accepted or queued. */
export async function sendSystemMessage(
  { to, subject, text }: SystemMessage,
  { transport, clock, ids, from }: SystemMessageDeps,
): Promise<Refusal | undefined> {
  const sender = parseMailbox(from);
  const recipient = parseMailbox(to);
  if (sender === undefined || recipient === undefined)
    throw new Fault(`cannot send the message "${subject}" from ${from} to ${to}: one of them is not an address`);
  const messageId = ids.messageId(domainOf(sender.address));
  const draft = {
    from: sender,
    to: [recipient],
    cc: [],
    bcc: [],
    attachments: [],
    subject,
    // RFC 3834 5: prevents out-of-office replies.
    headers: [["Auto-Submitted", "auto-generated"]] as [string, string][],
    text: text(recipient.address),
  };
  const raw = await compose(draft, { messageId, at: new Date(clock.now()) });
  const deliveryResults = await transport.deliver({
    messageId,
    cause: "send",
    from: sender.address,
    to: [recipient.address],
    raw: () => raw,
  });
  const refusedResult = deliveryResults.find((result) => !result.ok);
  if (refusedResult === undefined || refusedResult.ok) return undefined;
  const { code, enhanced, text: reason } = refusedResult.reply;
  return {
    temporary: refusedResult.temporary,
    details: { address: recipient.address, reply: `${code} ${enhanced} ${reason}`, from: sender.address },
  };
}
