import type { Ids } from "../../kernel/index.ts";
import { addressKey, domainOf, parseAddress, type HeaderField, type Mailbox } from "../../protocol/rfc5322/index.ts";
import type { EmailSendResult } from "../../workers/ports.ts";
import { mailErrors } from "../errors.ts";
import type { Forwarding } from "../forwarding/index.ts";
import { formatField, prepend, type DeliveryResult, type SmtpReply, type Transport } from "../messages/index.ts";
import { checkForwardHeaders } from "../sending/index.ts";
import type { LiveMail } from "./live-mail.ts";

/** The destinations that forward() may reach. */
export interface ForwardRules {
  /**
   * Returns true if an address is a verified destination of the worker (of its account, if there are accounts). If
   * omitted, every address is.
   */
  isVerified?: (address: string, worker: Pick<LiveMail, "script" | "account">) => boolean | Promise<boolean>;
  /**
   * Returns true if mail to `address` would come back to `script`. This is always true of the message's own recipient.
   */
  routesToWorker?: (address: string, script: string) => boolean | Promise<boolean>;
}

/** Maximum number of destinations for one message of a worker. */
const MAX_FORWARDS = 100;

interface Options {
  live: LiveMail;
  transport: Transport;
  /**
   * Signs messages and rewrites their sender to a local domain. If omitted, messages go to the transport unchanged.
   */
  forwarding?: Pick<Forwarding, "forward"> | undefined;
  ids: Pick<Ids, "messageId">;
  rules: ForwardRules;
  /** Called with the reply of a next hop that rejected the message, before forward() throws. */
  onRejected?(reply: SmtpReply): void;
}

/**
 * `message.forward()`: resolves once the next hop has accepted the message. The body is passed on byte for byte; X-
 * headers are added on top.
 */
export function createForward({ live, transport, forwarding, ids, rules, onRejected }: Options) {
  const destinations = new Set<string>();

  async function check(text: string): Promise<Mailbox> {
    const destination = parseAddress(text);
    if (destination === undefined) throw mailErrors.destinationInvalid({ address: JSON.stringify(text.slice(0, 100)) });
    const { address } = destination;
    if (destinations.has(addressKey(destination))) throw mailErrors.alreadyForwarded();
    if (destinations.size >= MAX_FORWARDS) throw mailErrors.tooManyForwards({ limit: MAX_FORWARDS });
    // Added before the first await: two concurrent calls must not both pass.
    destinations.add(addressKey(destination));
    try {
      if (rules.isVerified && !(await rules.isVerified(address, live)))
        throw mailErrors.destinationNotVerified({ address });
      if (isRecipient(live, destination) || (await rules.routesToWorker?.(address, live.script)))
        throw mailErrors.sameWorker({ address });
    } catch (err) {
      destinations.delete(addressKey(destination));
      throw err;
    }
    return destination;
  }

  function send(messageId: string, to: string[], extra: HeaderField[]): Promise<DeliveryResult[]> {
    const {
      message: { source },
      from,
      to: rcpt,
      script,
      dsn,
      verdict,
      account,
      zone,
    } = live;
    if (forwarding !== undefined)
      return forwarding.forward({
        envelope: { from, ...(dsn && { dsn }) },
        source,
        verdict,
        account,
        zone,
        rcpt,
        to,
        extra,
        script,
        messageId,
      });
    const extraHeaderBlock = extra.map(([name, value]) => formatField(name, value)).join("");
    return transport.deliver({
      messageId,
      cause: "forward",
      from,
      to,
      inbound: { id: live.id, source: source.id },
      script,
      raw: () => (extraHeaderBlock === "" ? source.open() : prepend(extraHeaderBlock, source.open())),
      ...(extraHeaderBlock === "" && source.file !== undefined && { file: source.file }),
    });
  }

  return async (recipient: string, headers: [name: string, value: string][]): Promise<EmailSendResult> => {
    const extra = checkForwardHeaders(headers);
    const destination = await check(recipient);
    const messageId = ids.messageId(domainOf(live.from) || domainOf(live.to));
    try {
      const results = await send(messageId, [destination.address], extra);
      for (const result of results) if (!result.ok) onRejected?.(result.reply);
      throwOnFailure(results);
    } catch (err) {
      destinations.delete(addressKey(destination));
      throw err;
    }
    return { messageId };
  };
}

const isRecipient = (live: LiveMail, destination: Mailbox) => {
  const originalRecipient = parseAddress(live.to);
  return originalRecipient !== undefined && addressKey(originalRecipient) === addressKey(destination);
};

/** Throws the error that the worker receives if a next hop rejected the message. */
export function throwOnFailure(settled: DeliveryResult[]): void {
  const failedResult = settled.find((one) => !one.ok);
  if (failedResult === undefined || failedResult.ok) return;
  const { code, enhanced, text } = failedResult.reply;
  const details = { status: code, reply: `${enhanced} ${text}` };
  throw failedResult.temporary ? mailErrors.transientFailure(details) : mailErrors.permanentFailure(details);
}
