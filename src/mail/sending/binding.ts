import type { EmailSendResult, SendEmailCaller, SendEmailPort } from "../../workers/ports.ts";
import { mailErrors } from "../errors.ts";
import { MAX_MESSAGE_BYTES, type Spool } from "../messages/index.ts";
import {
  parseAddressField,
  resolveBindingRecipients,
  checkRecipients,
  checkSender,
  onlyDestination,
} from "./allowed.ts";
import { readDraft } from "./draft.ts";
import { readRawMessage } from "./raw.ts";
import type { Sending, SendRequest } from "./types.ts";

/**
 * Implements `env.X.send()` on a server with accounts: checks the binding's restrictions, then sends like all account
 * mail.
 */
export function createSendEmailBinding({
  sending,
  spool,
}: {
  sending: Pick<Sending, "send">;
  spool: Spool;
}): SendEmailPort {
  async function send(
    caller: SendEmailCaller,
    request: Pick<SendRequest, "from" | "to" | "draft" | "raw">,
  ): Promise<EmailSendResult> {
    const {
      messageId,
      delivered,
      queued,
      rejections: [first],
    } = await sending.send({
      ...request,
      account: accountOf(caller),
      via: "binding",
      script: caller.script,
    } as SendRequest);
    // Once a recipient has been reached, an error would make the worker send again.
    if (first !== undefined && delivered.length + queued.length === 0)
      throw mailErrors.deliveryFailed({
        address: first.rcpt,
        status: first.reply.code,
        reply: `${first.reply.enhanced} ${first.reply.text}`,
      });
    return { messageId };
  }

  return {
    async sendRaw(caller, { from: fromText, to: toText, raw }) {
      const from = parseAddressField(fromText, "from");
      const to = parseAddressField(toText ?? onlyDestination(caller.binding), "to");
      checkSender(caller.binding, from);
      checkRecipients(caller.binding, [to]);
      const { source } = await readRawMessage(spool, raw, { from, maxBytes: MAX_MESSAGE_BYTES });
      try {
        return await send(caller, { from: from.address, to: [to.address], raw: source });
      } finally {
        await source.discard();
      }
    },

    async sendBuilt(caller, mail) {
      const draft = readDraft(mail);
      const recipients = resolveBindingRecipients(draft, caller.binding);
      checkSender(caller.binding, draft.from);
      checkRecipients(caller.binding, recipients);
      return send(caller, { from: draft.from.address, to: recipients.map((one) => one.address), draft });
    },
  };
}

function accountOf({ account, script }: SendEmailCaller): string {
  if (account === undefined) throw new Error(`the worker ${script} sends mail but belongs to no account`);
  return account;
}
