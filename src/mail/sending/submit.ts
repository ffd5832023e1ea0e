import type { Caller, Permission } from "../../accounts/index.ts";
import { UserError } from "../../kernel/index.ts";
import { parseAddress, type Mailbox } from "../../protocol/rfc5322/index.ts";
import type { Zones } from "../../zones/index.ts";
import { replyOf } from "../errors.ts";
import { readMessage } from "../messages/message.ts";
import type { SmtpReply } from "../messages/types.ts";
import type { SubmissionPorts } from "../submission/types.ts";
import type { Sending, SendingDomains } from "./types.ts";

export interface SubmissionParts {
  /** Who stands behind an API token. */
  authenticate(token: string, ip: string): Promise<Caller | undefined>;
  sending: Pick<Sending, "send">;
  domains: Pick<SendingDomains, "find">;
  zones: Pick<Zones, "byName">;
}

const PERMISSION: Permission = "Email Sending Write";
const DENIED: SmtpReply = { code: 550, enhanced: "5.7.1", text: "Sender denied: the token may not send from this address" };

/** What stands behind SMTP submission: an API token sends in the name of the account that its sender's domain belongs to. */
export function createSubmission({ authenticate, sending, domains, zones }: SubmissionParts): SubmissionPorts<Caller> {
  /** The account that a domain is of, where the token may send for it. */
  async function accountFor(caller: Caller, { domain }: Mailbox): Promise<string | undefined> {
    const account = (await domains.find(domain))?.account ?? (await zones.byName(domain, { enclosing: true }))?.account;
    return account !== undefined && caller.allows(PERMISSION, { account }) ? account : undefined;
  }

  return {
    async authenticate(token, ip) {
      const caller = await authenticate(token, ip);
      return caller?.accounts.some((account) => caller.allows(PERMISSION, { account })) === true ? caller : undefined;
    },
    async checkSender(caller, from) {
      if (from === "") return undefined;
      const mailbox = parseAddress(from);
      return mailbox !== undefined && (await accountFor(caller, mailbox)) !== undefined ? undefined : DENIED;
    },
    async submit(caller, { from, to, dsn }, source) {
      try {
        const [author] = readMessage(source).from;
        const account = author && (await accountFor(caller, author));
        if (author !== undefined && account === undefined) return DENIED;
        const { messageId } = await sending.send({ account: account ?? "", via: "smtp", from, to, raw: source, ...(dsn && { dsn }) });
        return { code: 250, enhanced: "2.0.0", text: `Ok ${messageId}` };
      } catch (err) {
        if (!(err instanceof UserError)) throw err;
        return answerTo(err);
      } finally {
        await source.discard();
      }
    },
  };
}

function answerTo(refusal: UserError): SmtpReply {
  if (refusal.entry.smtp !== undefined) return replyOf(refusal);
  // What the queue said that would not have it.
  if (refusal.details["answer"] !== undefined) return refusal.details["answer"] as SmtpReply;
  return refusal.entry.http >= 500 ? { code: 451, enhanced: "4.3.0", text: "The message could not be taken, try again later" } : { code: 554, enhanced: "5.6.0", text: refusal.message };
}
