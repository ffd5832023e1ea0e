import type { Clock, Ids } from "../../kernel/index.ts";
import { headerValue, parseAddress, isSameMailAddress, type Mailbox } from "../../protocol/rfc5322/index.ts";
import type { MailActions } from "../../workers/index.ts";
import type { MailBuilderFields, EmailSendResult } from "../../workers/ports.ts";
import { mailErrors } from "../errors.ts";
import type { Forwarding } from "../forwarding/index.ts";
import type { Spool, Outbound, Transport } from "../messages/index.ts";
import {
  readDraft,
  recipientsOf,
  finishRawMessage,
  readRawMessage,
  composeWithLimit,
  draftPartsOf,
} from "../sending/index.ts";
import { throwOnFailure } from "./forward.ts";
import type { LiveMail } from "./live-mail.ts";
import { noReplyReason } from "./replyable.ts";
import { threadFields } from "./thread.ts";

interface Options {
  live: LiveMail;
  transport: Transport;
  /** Signs replies. If omitted, replies go to the transport unchanged. */
  forwarding?: Pick<Forwarding, "reply"> | undefined;
  spool: Spool;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "messageId">;
  /** Called with a delivered reply while its bytes can still be read. */
  onReplied: (mail: Outbound) => Promise<void>;
}

/** `message.reply()`: a single reply to the sender, from the domain that received the message, in the same thread. */
export function createReplyActions({
  live,
  transport,
  forwarding,
  spool,
  clock,
  ids,
  onReplied,
}: Options): Pick<MailActions, "reply" | "replyBuilt"> {
  let hasReplied = false;
  let isDelivered = false;

  /** A rejected attempt can be corrected and repeated. Only one reply can be delivered. */
  async function replyOnce(attempt: () => Promise<EmailSendResult>): Promise<EmailSendResult> {
    if (hasReplied) throw mailErrors.alreadyReplied();
    hasReplied = true;
    try {
      return await attempt();
    } catch (err) {
      hasReplied = isDelivered;
      throw err;
    }
  }

  function checkAddresses(from: Mailbox, to: string) {
    const why = noReplyReason(live);
    if (why !== undefined) throw mailErrors.notReplyable({ why });
    const domain = parseAddress(live.to)?.domain;
    if (from.domain !== domain)
      throw mailErrors.senderNotAllowed({
        address: from.address,
        fix: `Reply from an address in ${domain}, the domain that received the message.`,
      });
    if (!isSameMailAddress(to, live.from))
      throw mailErrors.recipientNotAllowed({
        address: to,
        fix: `Send the reply to the sender of the message, ${live.from}.`,
      });
  }

  async function enqueue(mail: Omit<Outbound, "cause" | "to" | "inbound" | "script">): Promise<EmailSendResult> {
    const { account, zone, script } = live;
    const source = live.message.source.id;
    const inbound = forwarding === undefined ? { id: live.id, source } : { id: source, rcpt: live.to };
    const outbound: Outbound = {
      ...mail,
      cause: "reply",
      to: [live.from],
      inbound,
      script,
      ...(account !== undefined && { account }),
      ...(zone !== undefined && { zone }),
    };
    throwOnFailure(await (forwarding === undefined ? transport.deliver(outbound) : forwarding.reply(outbound)));
    isDelivered = true;
    await onReplied(outbound);
    return { messageId: mail.messageId };
  }

  return {
    reply: ({ from: fromText, to, raw }) =>
      replyOnce(async () => {
        const from = parseAddress(fromText);
        if (from === undefined)
          throw mailErrors.senderNotAllowed({ address: fromText, fix: "Pass one address without a name." });
        checkAddresses(from, to);
        const reply = await readRawMessage(spool, raw, { from, maxBytes: spool.maxBytes });
        try {
          const messageId = ids.messageId(from.domain);
          return await enqueue({
            messageId,
            from: from.address,
            raw: finishRawMessage(reply, {
              messageId,
              at: new Date(clock.now()),
              more: threadFields(live.message, reply.fields),
            }),
          });
        } finally {
          await reply.source.discard();
        }
      }),

    replyBuilt: (mail: MailBuilderFields) =>
      replyOnce(async () => {
        const draft = readDraft(mail);
        for (const to of [live.from, ...recipientsOf(draft).map((one) => one.address)]) checkAddresses(draft.from, to);
        draft.to = [parseAddress(live.from)!];
        draft.cc = draft.bcc = [];
        if (headerValue(draft.headers, "in-reply-to") === undefined)
          draft.headers.unshift(["In-Reply-To", live.message.messageId!]);
        draft.headers.push(...threadFields(live.message, draft.headers));
        const messageId = ids.messageId(draft.from.domain);
        const raw = await composeWithLimit(draft, { maxBytes: spool.maxBytes, messageId, at: new Date(clock.now()) });
        return enqueue({ messageId, from: draft.from.address, raw: () => raw, parts: draftPartsOf(draft) });
      }),
  };
}
