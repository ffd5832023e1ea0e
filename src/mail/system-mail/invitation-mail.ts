import { accountErrors, type InvitationEmail } from "../../accounts/index.ts";
import { Fault, type Clock, type Ids } from "../../kernel/index.ts";
import { domainOf, parseMailbox } from "../../protocol/rfc5322/index.ts";
import type { Transport } from "../messages/index.ts";
import { compose } from "../sending/index.ts";

interface InvitationMailDeps {
  transport: Transport;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "messageId">;
  /** The sender: `"Reelpost" <noreply@example.com>`. */
  from: string;
}

/** Sends an invitation to an account. Throws UserError invitationRefused, invitationDelayed. */
export type SendInvitationMail = (invitation: Omit<InvitationEmail, "secret">, link: string) => Promise<void>;

export function createInvitationMail({ transport, clock, ids, from }: InvitationMailDeps): SendInvitationMail {
  return async ({ to, account, invitedBy, role, expiresAt }, link) => {
    const sender = parseMailbox(from);
    const recipient = parseMailbox(to);
    if (sender === undefined || recipient === undefined)
      throw new Fault(`cannot create an invitation from ${from} to ${to}: one of them is not an address`);
    const messageId = ids.messageId(domainOf(sender.address));
    const draft = {
      from: sender,
      to: [recipient],
      cc: [],
      bcc: [],
      attachments: [],
      subject: "Invitation to a Reelpost account",
      // RFC 3834 5: prevents out-of-office replies.
      headers: [["Auto-Submitted", "auto-generated"]] as [string, string][],
      text: [
        `${invitedBy} invited you to the account "${plain(account)}" as ${article(role)} ${role}.`,
        "To accept the invitation, open this page:",
        link,
        `The link works once, until ${formatTime(expiresAt)}. It is only for you: do not forward it.`,
        "If you do not know the sender, ignore this message.",
        "",
      ].join("\n\n"),
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
    throw temporary ? accountErrors.invitationDelayed(details) : accountErrors.invitationRefused(details);
  };
}

/**
 * Returns the name of an account without what mail programs turn into links: anyone can create an account and have the
 * server send its name to others.
 */
const plain = (name: string): string =>
  name
    .replace(/[^\p{L}\p{N}\p{M} &'(),.+-]/gu, " ")
    .replace(/\.(?=\S)/g, ". ")
    .replace(/ {2,}/g, " ")
    .trim();

const article = (word: string): string => (/^[aeiou]/.test(word) ? "an" : "a");
const formatTime = (time: number): string => new Date(time).toISOString().replace(/T(\d\d:\d\d).*/, " $1 UTC");
