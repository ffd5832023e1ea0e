import type { Clock, Ids } from "../../kernel/index.ts";
import type { Mailbox } from "../../protocol/rfc5322/index.ts";
import type { EmailSendResult, SendEmailCaller, SendEmailPort } from "../../workers/ports.ts";
import { mailErrors, mebibytes } from "../errors.ts";
import { MAX_MESSAGE_BYTES, type Spool, type Outbound, type Trace, type Transport } from "../messages/index.ts";
import {
  parseAddressField,
  resolveBindingRecipients,
  checkRecipients,
  checkSender,
  onlyDestination,
} from "./allowed.ts";
import { compose } from "./compose.ts";
import { readDraft, type Draft } from "./draft.ts";
import { finishRawMessage, readRawMessage } from "./raw.ts";

interface SendEmailOptions {
  transport: Transport;
  spool: Spool;
  trace: Trace;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex" | "messageId">;
  /** True if the owner of an address has confirmed it. If omitted, every address counts as verified. */
  isVerified?: (address: string, sender: { script: string }) => boolean | Promise<boolean>;
  limits?: Partial<SendLimits>;
}

export interface SendLimits {
  /** Maximum size of a message in bytes; default 5 MiB. */
  messageBytes: number;
  /** Maximum size in bytes of a message sent only to verified addresses; default 25 MiB. */
  verifiedMessageBytes: number;
  /** Maximum number of recipients in to, cc and bcc together; default 50. */
  recipients: number;
}

export const DEFAULT_SEND_LIMITS: SendLimits = {
  messageBytes: 5 * 1024 * 1024,
  verifiedMessageBytes: MAX_MESSAGE_BYTES,
  recipients: 50,
};

/** Implements `env.X.send()`. */
export function createSendEmail({
  transport,
  spool,
  trace,
  clock,
  ids,
  isVerified,
  limits: givenLimits,
}: SendEmailOptions): SendEmailPort {
  const limits = { ...DEFAULT_SEND_LIMITS, ...givenLimits };

  async function sizeLimitOf(recipients: Mailbox[], caller: SendEmailCaller): Promise<number> {
    if (isVerified === undefined) return limits.verifiedMessageBytes;
    const verifiedFlags = await Promise.all(recipients.map(({ address }) => isVerified(address, caller)));
    return verifiedFlags.every(Boolean) ? limits.verifiedMessageBytes : limits.messageBytes;
  }

  async function deliverMail(caller: SendEmailCaller, mail: Outbound): Promise<EmailSendResult> {
    const deliveryResults = await transport.deliver({ ...mail, script: caller.script });
    for (const one of deliveryResults) {
      if (!one.ok)
        throw mailErrors.deliveryFailed({
          address: one.rcpt,
          status: one.reply.code,
          reply: `${one.reply.enhanced} ${one.reply.text}`,
        });
    }
    trace({
      message: ids.hex(),
      at: new Date(clock.now()),
      step: "sent",
      detail: {
        script: caller.script,
        binding: caller.binding.name,
        from: mail.from,
        to: mail.to,
        messageId: mail.messageId,
      },
    });
    return { messageId: mail.messageId };
  }

  return {
    async sendRaw(caller, { from: fromText, to: toText, raw }) {
      const from = parseAddressField(fromText, "from");
      const to = parseAddressField(toText ?? onlyDestination(caller.binding), "to");
      checkSender(caller.binding, from);
      checkRecipients(caller.binding, [to]);
      const message = await readRawMessage(spool, raw, { from, maxBytes: await sizeLimitOf([to], caller) });
      try {
        const messageId = ids.messageId(from.domain);
        return await deliverMail(caller, {
          messageId,
          cause: "send",
          from: from.address,
          to: [to.address],
          raw: finishRawMessage(message, { messageId, at: new Date(clock.now()) }),
        });
      } finally {
        await message.source.discard();
      }
    },

    async sendBuilt(caller, mail) {
      const draft = readDraft(mail);
      const recipients = resolveBindingRecipients(draft, caller.binding);
      if (recipients.length > limits.recipients)
        throw mailErrors.tooManyRecipients({ count: recipients.length, limit: limits.recipients });
      checkSender(caller.binding, draft.from);
      checkRecipients(caller.binding, recipients);
      const maxBytes = await sizeLimitOf(recipients, caller);
      const messageId = ids.messageId(draft.from.domain);
      const raw = await composeWithLimit(draft, { maxBytes, messageId, at: new Date(clock.now()) });
      return deliverMail(caller, {
        messageId,
        cause: "send",
        from: draft.from.address,
        to: recipients.map((one) => one.address),
        raw: () => raw,
        parts: draftPartsOf(draft),
      });
    },
  };
}

/** Rejects before encoding if the parts alone are too large. */
export async function composeWithLimit(
  draft: Draft,
  { maxBytes, ...options }: { maxBytes: number; messageId: string; at: Date },
): Promise<Buffer> {
  const partBytes =
    Buffer.byteLength(draft.text ?? "") +
    Buffer.byteLength(draft.html ?? "") +
    draft.attachments.reduce((sum, { content }) => sum + content.length, 0);
  const raw = partBytes > maxBytes ? undefined : await compose(draft, options);
  if (raw === undefined || raw.length > maxBytes) throw mailErrors.messageTooLarge({ limit: mebibytes(maxBytes) });
  return raw;
}

export const draftPartsOf = ({ text, html, attachments }: Draft): NonNullable<Outbound["parts"]> => ({
  text,
  html,
  attachments,
});
