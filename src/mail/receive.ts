import { messageOf, UserError, type Clock, type Ids, type Log } from "../kernel/index.ts";
import { headerValue, headerValues } from "../protocol/rfc5322/index.ts";
import type { WorkerRuntime } from "../workers/index.ts";
import {
  type ForwardRules,
  createDeliver,
  rejectedResult,
  rejectedWithReply,
  type Delivery,
  type DeliveryOutcome,
  createStepRecorder,
  createWorkerAction,
  type HandlingResult,
  type WorkerLogs,
} from "./actions/index.ts";
import { type Authenticator, traceDetail, type Verdict } from "./authenticate/index.ts";
import type { MessageArchive } from "./archive/index.ts";
import { mailErrors, smtpErrorOf, replyOf } from "./errors.ts";
import type { ReportIntake } from "./dmarc-reports/index.ts";
import { type Forwarding, isAuthorAuthenticated } from "./forwarding/index.ts";
import { createPartialDelivery, type RetryQueue, type Retry } from "./retry/index.ts";
import {
  readMessage,
  type ParsedMessage,
  type Spool,
  type Envelope,
  type MailSource,
  type DeliveryResult,
  type SmtpReply,
  type Trace,
  type Transport,
} from "./messages/index.ts";
import type { OwnedRoute } from "./routing/index.ts";
import type { Bounces } from "./bounces/index.ts";

export interface ReceiverOptions {
  runtime: Pick<WorkerRuntime, "email">;
  /** Resolves with the route of a recipient's mail: createRecipientRoute. Kind `none`: the recipient is rejected. */
  route: (recipient: string, envelope: Envelope) => OwnedRoute | Promise<OwnedRoute>;
  transport: Transport;
  spool: Spool;
  trace: Trace;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex" | "messageId">;
  log: Log;
  rules?: ForwardRules;
  /** Records what workers log. */
  workerLogs?: Pick<WorkerLogs, "expect">;
  /** A message with more Received fields than this is in a loop (RFC 5321 6.3). Default 100. */
  maxHops?: number;
  /** Authenticates senders. If omitted, all senders are trusted. */
  authenticator?: Pick<Authenticator, "check" | "addResults">;
  /**
   * Forwards messages, signed and with a rewritten sender. If omitted, messages are passed to the transport unchanged.
   */
  forwarding?: Forwarding;
  /** Processes bounces. If omitted, no address is a return path. */
  bounces?: Pick<Bounces, "isReturnPath" | "check" | "process" | "bounce">;
  /** Records reports about zones. If omitted, reports are dropped. */
  reports?: ReportIntake;
  /**
   * Retries for recipients that do not have an accepted message yet. If omitted, the sender retries for all recipients.
   */
  retries?: Pick<RetryQueue, "add">;
  /** Keeps the messages of accounts. If omitted, no message is kept. */
  archive?: Pick<MessageArchive, "store">;
}

export interface Receiver {
  /**
   * Processes a message, with the local Received field on top, for every recipient: when this resolves, the message was
   * relayed, handled, rejected or queued. Never rejects. The receiver takes ownership of the source.
   */
  receive(envelope: Envelope, source: MailSource): Promise<DeliveryResult[]>;
  /**
   * Checks a recipient before the message arrives (RFC 5321 3.3); undefined means accepted. Never rejects. `envelope`
   * is the state of the session so far.
   */
  checkRecipient(rcpt: string, envelope: Envelope): Promise<SmtpReply | undefined>;
  /** Retries a recipient of a queued message; for `RetryQueue.start`. */
  retry: Retry;
  /**
   * Passes one message to one worker, without routing, and returns all its actions. The receiver takes ownership of the
   * source.
   */
  dispatch(mail: {
    script: string;
    from: string;
    to: string;
    message: ParsedMessage;
    keepReplies?: boolean;
    /** Account and zone of the recipient. If omitted, the worker may forward to any address. */
    account?: string;
    zone?: string;
  }): Promise<HandlingResult>;
}

/** Maximum number of recipients of one message processed concurrently. */
const MAX_CONCURRENT = 10;

export function createReceiver(options: ReceiverOptions): Receiver {
  const {
    runtime,
    route,
    transport,
    spool,
    trace,
    clock,
    ids,
    log,
    rules = {},
    workerLogs,
    maxHops = 100,
    authenticator,
    forwarding,
    bounces,
    reports,
    retries,
    archive,
  } = options;
  const recordStep = createStepRecorder({ trace, clock });
  const dispatchToWorker = createWorkerAction({
    runtime,
    transport,
    forwarding,
    spool,
    trace,
    clock,
    ids,
    rules,
    workerLogs,
  });
  const deliver = createDeliver({ route, dispatchToWorker, transport, forwarding, reports, recordStep, ids, log });
  const settlePartialDelivery = createPartialDelivery({ retries, bounces, recordStep, clock, log });

  function read(source: MailSource): ParsedMessage {
    const message = readMessage(source);
    const hops = headerValues(message.fields, "received").length - 1;
    if (hops > maxHops) throw mailErrors.loop({ hops });
    return message;
  }

  /**
   * Authenticates the sender. Resolves with the message and its Authentication-Results field, or with the rejection.
   */
  async function authenticate(envelope: Envelope, message: ParsedMessage): Promise<Delivery | { refusal: SmtpReply }> {
    if (authenticator === undefined) return { envelope, message };
    const { source } = message;
    try {
      const verdict = await authenticator.check(envelope, source);
      recordStep(source.id, "authenticated", traceDetail(verdict));
      return verdict.accept
        ? { envelope, verdict, message: read(authenticator.addResults(source, verdict)) }
        : { refusal: verdict.reply! };
    } catch (err) {
      return { refusal: replyOf(refusalFor(err, source.id)) };
    }
  }

  function refusalFor(err: unknown, message: string): UserError {
    const refusal = smtpErrorOf(err);
    if (refusal !== err) log.error({ err, message }, `mail: failed to handle a message: ${messageOf(err)}`);
    return refusal;
  }

  /** `knownVerdict` is the authentication result, if there is one already. */
  async function processBounce(
    envelope: Envelope,
    source: MailSource,
    rcpt: string,
    knownVerdict?: Verdict,
  ): Promise<DeliveryOutcome> {
    const isAuthenticated = async () => {
      const verdict = knownVerdict ?? (await authenticator?.check(envelope, source));
      return verdict !== undefined && isAuthorAuthenticated(envelope, verdict);
    };
    try {
      return { result: await bounces!.process({ rcpt, envelope, source, isAuthenticated }) };
    } catch (err) {
      return { result: rejectedResult(rcpt, refusalFor(err, source.id)) };
    }
  }

  /**
   * Rejects a recipient of a message that failed authentication. The route determines the account whose log shows the
   * rejection.
   */
  async function reject(envelope: Envelope, rcpt: string, reply: SmtpReply): Promise<DeliveryOutcome> {
    const result = rejectedWithReply(rcpt, reply);
    try {
      const { account, zone } = await route(rcpt, envelope);
      return { result, account, zone };
    } catch {
      return { result };
    }
  }

  /** Processes one message for all its recipients. `backgroundWork` receives the waitUntil() work of workers. */
  async function accept(
    envelope: Envelope,
    source: MailSource,
    backgroundWork: (Promise<void> | undefined)[],
  ): Promise<DeliveryResult[]> {
    const message = read(source);
    const { from, to, helo, ip, tls } = envelope;
    const returnPathRcpts = new Set(to.filter((rcpt) => bounces?.isReturnPath(rcpt)));
    recordStep(source.id, "received", {
      from,
      to,
      size: source.size,
      ip,
      helo,
      ...(tls !== undefined && { tls }),
      messageId: message.messageId,
      subject: headerValue(message.fields, "subject")?.slice(0, MAX_SUBJECT),
      ...(returnPathRcpts.size > 0 && { returnPaths: [...returnPathRcpts] }),
    });
    // Bounces come from unauthenticated servers; the signed address is sufficient proof. The author of a complaint is
    // checked later.
    const isProven = from === "";
    const authenticated =
      returnPathRcpts.size === to.length && isProven ? { envelope, message } : await authenticate(envelope, message);
    const outcomes = await mapConcurrently(to, MAX_CONCURRENT, (rcpt, i) => {
      if (returnPathRcpts.has(rcpt) && (isProven || !("refusal" in authenticated)))
        return processBounce(envelope, source, rcpt, "refusal" in authenticated ? undefined : authenticated.verdict);
      return "refusal" in authenticated
        ? reject(envelope, rcpt, authenticated.refusal)
        : deliver(authenticated, rcpt, i === 0 ? source.id : ids.hex());
    });
    backgroundWork.push(...outcomes.map((one) => one.ended));
    if (!("refusal" in authenticated)) await keep(authenticated.message.source, outcomes);
    return settlePartialDelivery(source.id, "refusal" in authenticated ? undefined : authenticated, outcomes);
  }

  /** Keeps one copy for each account that has a recipient. */
  async function keep(source: MailSource, outcomes: readonly DeliveryOutcome[]): Promise<void> {
    if (archive === undefined) return;
    const accounts = new Set(outcomes.flatMap(({ account }) => account ?? []));
    await Promise.all(Array.from(accounts, (account) => archive.store({ id: source.id, account }, source)));
  }

  return {
    async receive(envelope, source) {
      const backgroundWork: (Promise<void> | undefined)[] = [];
      try {
        return await accept(envelope, source, backgroundWork);
      } catch (err) {
        const refusal = refusalFor(err, source.id);
        recordStep(source.id, "rejected", { from: envelope.from, to: envelope.to, ...replyOf(refusal) });
        return envelope.to.map((rcpt) => rejectedResult(rcpt, refusal));
      } finally {
        void discardAfter(source, backgroundWork, log);
      }
    },

    async checkRecipient(rcpt, envelope) {
      try {
        if (bounces?.isReturnPath(rcpt)) return await bounces.check(rcpt, envelope);
        const recipientRoute = await route(rcpt, envelope);
        if (recipientRoute.temporary) return replyOf(mailErrors.workerNotDeployed());
        return recipientRoute.kind === "none" ? replyOf(mailErrors.noSuchRecipient({ address: rcpt })) : undefined;
      } catch (err) {
        return replyOf(refusalFor(err, ""));
      }
    },

    async retry({ envelope, source, verdict }, { rcpt, to }) {
      try {
        if (bounces?.isReturnPath(rcpt)) return (await processBounce(envelope, source, rcpt, verdict)).result;
        const {
          result,
          ended: handlerEnd,
          remaining,
        } = await deliver({ envelope, message: read(source), verdict }, rcpt, ids.hex(), to);
        await handlerEnd?.catch(() => {});
        return { ...result, ...(remaining && remaining.length > 0 && { to: remaining }) };
      } catch (err) {
        return rejectedResult(rcpt, refusalFor(err, source.id));
      }
    },

    async dispatch({ script, from, to, message, keepReplies = false, ...owner }) {
      let handlerEnd: Promise<void> | undefined;
      try {
        const liveMessage = { id: message.source.id, message, from, to, script, ...owner };
        recordStep(
          message.source.id,
          "received",
          {
            from,
            to: [to],
            size: message.source.size,
            messageId: message.messageId,
            subject: headerValue(message.fields, "subject")?.slice(0, MAX_SUBJECT),
          },
          { rcpt: to, ...owner },
        );
        const workerOutcome = await dispatchToWorker(liveMessage, { keepReplies });
        handlerEnd = workerOutcome.ended;
        return workerOutcome;
      } finally {
        void discardAfter(message.source, [handlerEnd], log);
      }
    },
  };
}

/** Maximum length of the subject in the log. */
const MAX_SUBJECT = 1000;

/** Waits for waitUntil() work, which may still forward the message. */
async function discardAfter(source: MailSource, pendingWork: (Promise<void> | undefined)[], log: Log) {
  await Promise.allSettled(pendingWork);
  await source
    .discard()
    .catch((err: unknown) => log.warn({ err, message: source.id }, "mail: failed to delete a spool file"));
}

async function mapConcurrently<In, Out>(
  items: In[],
  atOnce: number,
  run: (item: In, index: number) => Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = [];
  let next = 0;
  async function runLane() {
    while (next < items.length) {
      const index = next++;
      results[index] = await run(items[index]!, index);
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, runLane));
  return results;
}
