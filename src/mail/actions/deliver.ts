import { messageOf, UserError, type Ids, type Log } from "../../kernel/index.ts";
import { domainOf } from "../../protocol/rfc5322/index.ts";
import type { Verdict } from "../authenticate/index.ts";
import { mailErrors, smtpErrorOf, replyOf } from "../errors.ts";
import type { Forwarding } from "../forwarding/index.ts";
import type { ParsedMessage, Envelope, DeliveryResult, SmtpReply, Transport } from "../messages/index.ts";
import type { Owner, RecordStep } from "./record-step.ts";
import type { OwnedRoute } from "../routing/index.ts";
import type { ReportIntake } from "../dmarc-reports/index.ts";
import type { HandlingResult, DispatchToWorker } from "./worker.ts";

/** An accepted message. */
export interface Delivery {
  envelope: Envelope;
  message: ParsedMessage;
  /** Undefined if sender authentication is disabled. */
  verdict?: Verdict | undefined;
}

export interface DeliveryOutcome extends Owner {
  result: DeliveryResult;
  /** Resolves when the worker's invocation has ended. The message must stay readable until then. */
  ended?: Promise<void>;
  /** Destination addresses that do not have the message yet. */
  remaining?: string[];
}

interface DeliverDeps {
  route: (recipient: string, envelope: Envelope) => OwnedRoute | Promise<OwnedRoute>;
  dispatchToWorker: DispatchToWorker;
  transport: Transport;
  forwarding?: Pick<Forwarding, "forward" | "isLoop"> | undefined;
  reports?: ReportIntake | undefined;
  recordStep: RecordStep;
  ids: Pick<Ids, "messageId">;
  log: Log;
}

/** Delivers a message to one recipient. `onlyRecipients` limits the destinations of a forward. The promise never rejects. */
type Deliver = (
  delivery: Delivery,
  rcpt: string,
  id: string,
  onlyRecipients?: readonly string[],
) => Promise<DeliveryOutcome>;

export function createDeliver({
  route,
  dispatchToWorker,
  transport,
  forwarding,
  reports,
  recordStep,
  ids,
  log,
}: DeliverDeps): Deliver {
  async function act(
    chosen: OwnedRoute,
    delivery: Delivery,
    rcpt: string,
    id: string,
    onlyRecipients?: readonly string[],
  ): Promise<DeliveryOutcome> {
    const { envelope, message, verdict } = delivery;
    const { account, zone } = chosen;
    if (chosen.temporary) return { result: rejectedResult(rcpt, mailErrors.workerNotDeployed()) };
    switch (chosen.kind) {
      case "worker": {
        refuseLoop(message, rcpt);
        const handledMail = await dispatchToWorker({
          id,
          message,
          from: envelope.from,
          to: rcpt,
          script: chosen.script,
          dsn: envelope.dsn,
          verdict,
          account,
          zone,
        });
        const result = workerResult(rcpt, handledMail, envelope);
        const { waitUntilSettled, ended } = handledMail;
        if (!result.ok || waitUntilSettled === undefined) return { result, ended };
        // A forward() in waitUntil() may still fail. The sender waits for the reply (RFC 5321 4.5.3.2.6: ten minutes),
        // so it learns about the failure, which a 250 would hide. The invocation itself may end much later.
        await waitUntilSettled;
        const reply = handledMail.rejectedForward();
        return { result: reply === undefined ? result : rejectedWithReply(rcpt, reply), ended };
      }
      case "forward":
        refuseLoop(message, rcpt);
        return forward(
          delivery,
          rcpt,
          onlyRecipients === undefined ? chosen.to : chosen.to.filter((to) => onlyRecipients.includes(to)),
          chosen,
        );
      case "report": {
        // Replies 250 even if the report was not recorded: a bounce would help no one, and some reporters stop sending
        // after one.
        const acceptance = await reports?.accept({ zone: zone!, envelope, source: message.source, verdict });
        recordStep(
          message.source.id,
          acceptance?.recorded ? "handled" : "dropped",
          { report: true, ...acceptance },
          { rcpt, account, zone },
        );
        return { result: { rcpt, ok: true } };
      }
      case "drop":
        recordStep(message.source.id, "dropped", {}, { rcpt, account, zone });
        return { result: { rcpt, ok: true } };
      case "none":
        return { result: rejectedResult(rcpt, mailErrors.noSuchRecipient({ address: rcpt })) };
    }
  }

  function refuseLoop(message: ParsedMessage, rcpt: string) {
    if (forwarding?.isLoop(message, rcpt)) throw mailErrors.forwardedBefore({ address: rcpt });
  }

  async function forward(
    { envelope, message: { source }, verdict }: Delivery,
    rcpt: string,
    to: string[],
    { account, zone }: Owner,
  ): Promise<DeliveryOutcome> {
    // The rule has changed, and the message has reached all destinations it had before.
    if (to.length === 0) return { result: { rcpt, ok: true } };
    const messageId = ids.messageId(domainOf(envelope.from) || domainOf(rcpt));
    if (forwarding === undefined) {
      const results = await transport.deliver({
        messageId,
        cause: "forward",
        from: envelope.from,
        to,
        raw: () => source.open(),
        inbound: { id: source.id },
      });
      const failed = results.find((one) => !one.ok);
      return { result: failed === undefined ? { rcpt, ok: true } : { ...failed, rcpt } };
    }
    const results = await forwarding.forward({ envelope, source, verdict, account, zone, rcpt, to, messageId });
    const deliveredRecipients = results.filter((one) => one.ok).map((one) => one.rcpt);
    if (deliveredRecipients.length > 0)
      recordStep(source.id, "forwarded", { to: deliveredRecipients, messageId }, { rcpt, account, zone });
    const failed = results.filter((one) => !one.ok);
    const first = failed.find((one) => one.temporary) ?? failed[0];
    return first === undefined
      ? { result: { rcpt, ok: true } }
      : { result: { ...first, rcpt }, remaining: failed.filter((one) => one.temporary).map((one) => one.rcpt) };
  }

  return async (delivery, rcpt, id, onlyRecipients) => {
    const { message } = delivery;
    let owner: Owner = {};
    try {
      const chosen = await route(rcpt, delivery.envelope);
      owner = { account: chosen.account, zone: chosen.zone };
      recordStep(message.source.id, "matched", { ...chosen }, { rcpt, ...owner });
      return { ...(await act(chosen, delivery, rcpt, id, onlyRecipients)), ...owner };
    } catch (err) {
      // An internal error must not lose the message: the sender still has it and retries.
      if (!(err instanceof UserError))
        log.error({ err, message: message.source.id, rcpt }, `mail: failed to process a message: ${messageOf(err)}`);
      return { result: rejectedResult(rcpt, smtpErrorOf(err)), ...owner };
    }
  };
}

export const rejectedResult = (rcpt: string, refusal: UserError): DeliveryResult =>
  rejectedWithReply(rcpt, replyOf(refusal));

export const rejectedWithReply = (rcpt: string, reply: SmtpReply): DeliveryResult => ({
  rcpt,
  ok: false,
  temporary: reply.code < 500,
  reply,
});

/** setReject() is final. If the handler failed or was stopped, the sender keeps the message and retries. */
function workerResult(rcpt: string, handledMail: HandlingResult, { smtputf8 }: Envelope): DeliveryResult {
  if (handledMail.outcome !== "ok") return rejectedResult(rcpt, mailErrors.handlerFailed());
  if (handledMail.rejectReason === undefined) return { rcpt, ok: true };
  return rejectedResult(rcpt, mailErrors.rejected({ reason: oneLine(handledMail.rejectReason, smtputf8) }));
}

/** An SMTP reply text is a single line, and ASCII unless the session uses SMTPUTF8 (RFC 6531 3.7.4.2). */
function oneLine(reason: string, utf8: boolean): string {
  const line = reason
    .replace(/\p{Cc}+/gu, " ")
    .trim()
    .slice(0, 900);
  return (utf8 ? line : line.replace(/[^ -~]/gu, "?")) || "Message rejected";
}
