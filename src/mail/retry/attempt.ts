import { messageOf, type Clock, type Log } from "../../kernel/index.ts";
import type { JobContext } from "../../store/index.ts";
import type { RecordStep } from "../actions/index.ts";
import type { Verdict } from "../authenticate/index.ts";
import { isAuthenticatedSender } from "../forwarding/index.ts";
import type { Envelope, MailSource } from "../messages/index.ts";
import type { Bounces } from "../bounces/index.ts";
import type { RetryRecipient, Retry } from "./types.ts";

/** A queued message except for its content. */
export interface RetryPayload {
  /** The inbound message. */
  message: string;
  /** Where the content is stored. */
  body: string;
  at: number;
  envelope: Envelope;
  verdict?: Verdict | undefined;
  recipients: RetryRecipient[];
}

interface AttemptDeps {
  clock: Pick<Clock, "now">;
  recordStep: RecordStep;
  log: Log;
  bounces?: Pick<Bounces, "bounce"> | undefined;
  limits: { lifetimeMs: number; recipients: number };
}

/** How long a failed report is retried. */
export const BOUNCE_RETRY_MS = 2 * 24 * 60 * 60_000;

/**
 * Makes another attempt for all queued recipients; resolves with those that remain. Each result is stored immediately,
 * so that if a process dies, only deliveries in progress are repeated.
 */
export function createAttempt({ clock, recordStep, log, bounces, limits }: AttemptDeps) {
  async function attemptRecipient(
    payload: RetryPayload,
    recipient: RetryRecipient,
    source: MailSource,
    retry: Retry,
  ): Promise<RetryRecipient | undefined> {
    if (recipient.bounce) return recipient;
    const { envelope, verdict, message } = payload;
    const { rcpt, account, zone } = recipient;
    const { to, ...tried } = await retry({ envelope, source, verdict, recipients: [recipient] }, recipient);
    if (tried.ok) return undefined;
    const { bounce: _, to: __, ...rest } = recipient;
    const after: RetryRecipient = { ...rest, reply: tried.reply, ...(to && { to }) };
    if (!tried.temporary || clock.now() - payload.at >= limits.lifetimeMs) return { ...after, bounce: true };
    recordStep(message, "deferred", { ...tried.reply, held: true }, { rcpt, account, zone });
    return after;
  }

  /** Resolves with true if nothing remains to be done for these recipients. */
  async function giveUp(
    { message, envelope, verdict, at }: RetryPayload,
    failed: RetryRecipient[],
    source: MailSource,
  ): Promise<boolean> {
    let isReported = false;
    try {
      const { account, zone } = failed[0]!;
      const recipients = failed.map(({ rcpt, reply }) => ({ rcpt, reply }));
      isReported =
        (await bounces?.bounce({
          inbound: { id: message },
          account,
          zone,
          envelope,
          senderAuthenticated: isAuthenticatedSender(envelope, verdict),
          recipients,
          source,
          arrivedAt: new Date(at),
        })) ?? false;
    } catch (err) {
      if (clock.now() - at < limits.lifetimeMs + BOUNCE_RETRY_MS) return false;
      log.error(
        { err, message },
        `retry queue: failed to report a failure to the sender, will not retry: ${messageOf(err)}`,
      );
    }
    for (const { rcpt, reply, account, zone } of failed)
      recordStep(message, "bounced", { ...reply, held: true, told: isReported }, { rcpt, account, zone });
    return true;
  }

  return async (
    payload: RetryPayload,
    waitingRecipients: RetryRecipient[],
    source: MailSource,
    retry: Retry,
    { signal, progress }: JobContext,
  ): Promise<RetryRecipient[]> => {
    const remaining = new Map(waitingRecipients.map((recipient) => [recipient.rcpt, recipient]));
    let lastWrite = Promise.resolve();
    const write = () => (lastWrite = lastWrite.then(() => progress([...remaining.values()])));
    const queue = waitingRecipients.values();
    async function runLane() {
      for (const recipient of queue) {
        signal.throwIfAborted();
        const after = await attemptRecipient(payload, recipient, source, retry);
        if (after === undefined) remaining.delete(recipient.rcpt);
        else remaining.set(recipient.rcpt, after);
        await write();
      }
    }
    await Promise.all(Array.from({ length: Math.min(limits.recipients, waitingRecipients.length) }, runLane));
    const failed = [...remaining.values()].filter(({ bounce }) => bounce);
    if (failed.length > 0 && (await giveUp(payload, failed, source))) {
      for (const { rcpt } of failed) remaining.delete(rcpt);
      await write();
    }
    return [...remaining.values()];
  };
}
