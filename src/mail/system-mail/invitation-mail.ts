import { accountErrors, type InvitationEmail } from "../../accounts/index.ts";
import { sendSystemMessage, type SystemMessageDeps } from "./system-message.ts";

/** Sends an invitation to an account. Throws UserError invitationRefused, invitationDelayed. */
export type SendInvitationMail = (invitation: Omit<InvitationEmail, "secret">, link: string) => Promise<void>;

export function createInvitationMail(deps: SystemMessageDeps): SendInvitationMail {
  return async ({ to, account, invitedBy, role, expiresAt }, link) => {
    const text = [
      `${invitedBy} invited you to the account "${plain(account)}" as ${article(role)} ${role}.`,
      "To accept the invitation, open this page:",
      link,
      `The link works once, until ${formatTime(expiresAt)}. It is only for you: do not forward it.`,
      "If you do not know the sender, ignore this message.",
      "",
    ].join("\n\n");
    const refusal = await sendSystemMessage(
      { to, subject: "Invitation to a Reelpost account", text: () => text },
      deps,
    );
    if (refusal === undefined) return;
    const { temporary, details } = refusal;
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
