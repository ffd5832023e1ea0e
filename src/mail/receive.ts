import { messageOf, UserError, type Clock, type Ids, type Log } from "../kernel/index.ts";
import { domainOf, headerValues } from "../protocol/rfc5322/index.ts";
import type { WorkerRuntime } from "../workers/index.ts";
import type { ForwardRules } from "./actions/forward.ts";
import { createWorkerAction, type Handled } from "./actions/worker.ts";
import type { Authenticator } from "./authenticate/authenticate.ts";
import { mailErrors, refusalOf, replyOf } from "./errors.ts";
import type { Forwarding } from "./forwarding/types.ts";
import type { Held, Retry } from "./held/types.ts";
import { readMessage, type Message } from "./messages/message.ts";
import type { Spool } from "./messages/spool.ts";
import type { Envelope, MailSource, Route, Settled, SmtpReply, Trace, TraceEvent, Transport } from "./messages/types.ts";
import type { Returns } from "./returns/types.ts";

export interface ReceiverOptions {
  runtime: Pick<WorkerRuntime, "email">;
  /** Where mail for a recipient goes. */
  route: (recipient: string, envelope: Envelope) => Route | Promise<Route>;
  transport: Transport;
  spool: Spool;
  trace: Trace;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex" | "messageId">;
  log: Log;
  rules?: ForwardRules;
  /** More Received fields than this are a loop (RFC 5321 6.3). Default 100. */
  maxHops?: number;
  /** Judges senders. Without it everybody is believed. */
  authenticator?: Pick<Authenticator, "check" | "tagged">;
  /** Sends on what goes on, signed and with a sender of ours. Without it messages go to the transport as they are. */
  forwarding?: Forwarding;
  /** Takes what comes back. Without it no address is a return path. */
  returns?: Pick<Returns, "isReturnPath" | "check" | "take" | "bounce">;
  /** Keeps what only some recipients could have yet. Without it the sender keeps it, and comes again for all of them. */
  held?: Pick<Held, "hold">;
}

export interface Receiver {
  /**
   * Takes a message, our own Received field on top, through to its end for every recipient: it is relayed, handled or refused when this
   * resolves. Never rejects. The source is the receiver's from here on.
   */
  receive(envelope: Envelope, source: MailSource): Promise<Settled[]>;
  /**
   * What can be said of a recipient before the message is there (RFC 5321 3.3): undefined when it may come. Never rejects. `envelope` is what
   * the session has said so far.
   */
  checkRecipient(rcpt: string, envelope: Envelope): Promise<SmtpReply | undefined>;
  /** Tries recipients of a held message once more; what `held.start` takes. */
  retry: Retry;
  /** Hands one message to one worker, past all routing, and tells everything it did. The source is the receiver's from here on. */
  dispatch(mail: { script: string; from: string; to: string; message: Message; keepReplies?: boolean }): Promise<Handled>;
}

/** Recipients of one message that are handled at a time. */
const AT_ONCE = 10;

export function createReceiver({ runtime, route, transport, spool, trace, clock, ids, log, rules = {}, maxHops = 100 }: ReceiverOptions): Receiver {
  const handToWorker = createWorkerAction({ runtime, transport, spool, trace, clock, ids, rules });

  function tell(message: Message, step: TraceEvent["step"], detail: Record<string, unknown>, rcpt?: string) {
    trace({ message: message.source.id, at: new Date(clock.now()), step, ...(rcpt === undefined ? {} : { rcpt }), detail });
  }

  async function settle(envelope: Envelope, message: Message, rcpt: string, id: string): Promise<{ settled: Settled; ended?: Promise<void> }> {
    const chosen = await route(rcpt, envelope);
    tell(message, "matched", { ...chosen }, rcpt);
    switch (chosen.kind) {
      case "worker": {
        const handled = await handToWorker({ id, message, from: envelope.from, to: rcpt, script: chosen.script });
        return { settled: verdict(rcpt, handled, envelope), ended: handled.ended };
      }
      case "forward":
        return { settled: await relay(envelope, message, rcpt, chosen.to) };
      case "drop":
        tell(message, "dropped", {}, rcpt);
        return { settled: { rcpt, ok: true } };
      case "none":
        return { settled: refused(rcpt, mailErrors.noSuchRecipient({ address: rcpt })) };
    }
  }

  async function relay(envelope: Envelope, { source }: Message, rcpt: string, to: string[]): Promise<Settled> {
    const messageId = ids.messageId(domainOf(envelope.from) || domainOf(rcpt));
    const settled = await transport.deliver({ messageId, cause: "forward", from: envelope.from, to, raw: () => source.open(), inbound: { id: source.id } });
    const failed = settled.find((one) => !one.ok);
    return failed === undefined ? { rcpt, ok: true } : { ...failed, rcpt };
  }

  /** Our own failure must not lose the message: the sender keeps it and comes again. */
  async function settleSafely(envelope: Envelope, message: Message, rcpt: string, id: string) {
    try {
      return await settle(envelope, message, rcpt, id);
    } catch (err) {
      if (!(err instanceof UserError)) log.error({ err, message: message.source.id, rcpt }, `mail could not be handled: ${messageOf(err)}`);
      return { settled: refused(rcpt, refusalOf(err)) };
    }
  }

  function read(source: MailSource): Message {
    const message = readMessage(source);
    const hops = headerValues(message.fields, "received").length - 1;
    if (hops > maxHops) throw mailErrors.loop({ hops });
    return message;
  }

  return {
    async receive(envelope, source) {
      const after: (Promise<void> | undefined)[] = [];
      try {
        const message = read(source);
        tell(message, "received", { from: envelope.from, to: envelope.to, size: source.size, ip: envelope.ip });
        const results = await eachOf(envelope.to, AT_ONCE, (rcpt, i) => settleSafely(envelope, message, rcpt, i === 0 ? source.id : ids.hex()));
        after.push(...results.map((one) => one.ended));
        for (const { settled } of results) {
          if (!settled.ok) tell(message, settled.temporary ? "deferred" : "rejected", { ...settled.reply }, settled.rcpt);
        }
        return results.map((one) => one.settled);
      } catch (err) {
        const refusal = refusalOf(err);
        trace({ message: source.id, at: new Date(clock.now()), step: "rejected", detail: { from: envelope.from, to: envelope.to, ...replyOf(refusal) } });
        return envelope.to.map((rcpt) => refused(rcpt, refusal));
      } finally {
        void discardAfter(source, after, log);
      }
    },

    async checkRecipient(rcpt, envelope) {
      try {
        return (await route(rcpt, envelope)).kind === "none" ? replyOf(mailErrors.noSuchRecipient({ address: rcpt })) : undefined;
      } catch (err) {
        return replyOf(refusalOf(err));
      }
    },

    async retry({ envelope, source }, recipients) {
      const message = read(source);
      return eachOf(recipients, AT_ONCE, async ({ rcpt }) => (await settleSafely(envelope, message, rcpt, ids.hex())).settled);
    },

    async dispatch({ script, from, to, message, keepReplies = false }) {
      let ended: Promise<void> | undefined;
      try {
        const live = { id: message.source.id, message, from, to, script };
        tell(message, "received", { from, to: [to], size: message.source.size });
        const handled = await handToWorker(live, { keepReplies });
        ended = handled.ended;
        return handled;
      } finally {
        void discardAfter(message.source, [ended], log);
      }
    },
  };
}

/** waitUntil() work may still forward the message. */
async function discardAfter(source: MailSource, work: (Promise<void> | undefined)[], log: Log) {
  await Promise.allSettled(work);
  await source.discard().catch((err: unknown) => log.warn({ err, message: source.id }, "a spool file could not be deleted"));
}

function refused(rcpt: string, refusal: UserError): Settled {
  const reply = replyOf(refusal);
  return { rcpt, ok: false, temporary: reply.code < 500, reply };
}

/** setReject() is final; a handler that failed or was stopped leaves the message with the sender, who comes again. */
function verdict(rcpt: string, handled: Handled, { smtputf8 }: Envelope): Settled {
  if (handled.outcome !== "ok") return refused(rcpt, mailErrors.handlerFailed());
  if (handled.rejectReason === undefined) return { rcpt, ok: true };
  return refused(rcpt, mailErrors.rejected({ reason: oneLine(handled.rejectReason, smtputf8) }));
}

/** A reply line is one line, and ASCII unless the session speaks UTF-8 (RFC 6531 3.7.4.2). */
function oneLine(reason: string, utf8: boolean): string {
  const line = reason.replace(/\p{Cc}+/gu, " ").trim().slice(0, 900);
  return (utf8 ? line : line.replace(/[^ -~]/gu, "?")) || "Message rejected";
}

async function eachOf<In, Out>(items: In[], atOnce: number, run: (item: In, index: number) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = [];
  let next = 0;
  async function lane() {
    while (next < items.length) {
      const index = next++;
      results[index] = await run(items[index]!, index);
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, lane));
  return results;
}
