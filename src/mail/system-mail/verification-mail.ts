import { Fault, type Clock, type Ids } from "../../kernel/index.ts";
import { domainOf, parseMailbox } from "../../protocol/rfc5322/index.ts";
import type { Transport } from "../messages/index.ts";
import { addressErrors, type SendVerification } from "../addresses/index.ts";
import { compose } from "../sending/index.ts";

interface VerificationMailDeps {
  transport: Transport;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "messageId">;
  /** The sender: `"Reelpost" <noreply@example.com>`. */
  from: string;
}

/**
 * Sends the verification email to a new destination address. Throws UserError verificationRefused, verificationDelayed.
 */
export function createVerificationMail({ transport, clock, ids, from }: VerificationMailDeps): SendVerification {
  return async (address, link) => {
    const sender = parseMailbox(from);
    const recipient = parseMailbox(address);
    if (sender === undefined || recipient === undefined)
      throw new Fault(`cannot create a verification email from ${from} to ${address}: one of them is not an address`);
    const messageId = ids.messageId(domainOf(sender.address));
    const draft = {
      from: sender,
      to: [recipient],
      cc: [],
      bcc: [],
      attachments: [],
      subject: "Verify your address",
      // RFC 3834 5: prevents out-of-office replies.
      headers: [["Auto-Submitted", "auto-generated"]] as [string, string][],
      text: `A request was made to forward mail to ${recipient.address}.\n\nIf you made this request, open this page and confirm it:\n\n${link}\n\nIf you did not, ignore this message: no mail will be forwarded.\n`,
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
    if (refusedResult === undefined || refusedResult.ok) return;
    const {
      temporary,
      reply: { code, enhanced, text },
    } = refusedResult;
    const details = { address: recipient.address, reply: `${code} ${enhanced} ${text}`, from: sender.address };
    throw temporary ? addressErrors.verificationDelayed(details) : addressErrors.verificationRefused(details);
  };
}
