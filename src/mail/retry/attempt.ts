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
  async function step(
    kept: RetryPayload,
    one: RetryRecipient,
    source: MailSource,
    retry: Retry,
  ): Promise<RetryRecipient | undefined> {
    if (one.bounce) return one;
    const { envelope, verdict, message } = kept;
    const { rcpt, account, zone } = one;
    const { to, ...tried } = await retry({ envelope, source, verdict, recipients: [one] }, one);
    if (tried.ok) return undefined;
    const { bounce: _, to: __, ...rest } = one;
    const after: RetryRecipient = { ...rest, reply: tried.reply, ...(to && { to }) };
    if (!tried.temporary || clock.now() - kept.at >= limits.lifetimeMs) return { ...after, bounce: true };
    recordStep(message, "deferred", { ...tried.reply, held: true }, { rcpt, account, zone });
    return after;
  }

  /** Resolves with true if nothing remains to be done for these recipients. */
  async function giveUp(
    { message, envelope, verdict, at }: RetryPayload,
    failed: RetryRecipient[],
    source: MailSource,
  ): Promise<boolean> {
    let reported = false;
    try {
      const { account, zone } = failed[0]!;
      const recipients = failed.map(({ rcpt, reply }) => ({ rcpt, reply }));
      reported =
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
      log.error({ err, message }, `retry queue: failed to report a failure to the sender, gave up: ${messageOf(err)}`);
    }
    for (const { rcpt, reply, account, zone } of failed)
      recordStep(message, "bounced", { ...reply, held: true, told: reported }, { rcpt, account, zone });
    return true;
  }

  return async (
    kept: RetryPayload,
    waiting: RetryRecipient[],
    source: MailSource,
    retry: Retry,
    { signal, progress }: JobContext,
  ): Promise<RetryRecipient[]> => {
    const left = new Map(waiting.map((one) => [one.rcpt, one]));
    let written = Promise.resolve();
    const write = () => (written = written.then(() => progress([...left.values()])));
    const queue = waiting.values();
    async function lane() {
      for (const one of queue) {
        signal.throwIfAborted();
        const after = await step(kept, one, source, retry);
        if (after === undefined) left.delete(one.rcpt);
        else left.set(one.rcpt, after);
        await write();
      }
    }
    await Promise.all(Array.from({ length: Math.min(limits.recipients, waiting.length) }, lane));
    const failed = [...left.values()].filter(({ bounce }) => bounce);
    if (failed.length > 0 && (await giveUp(kept, failed, source))) {
      for (const { rcpt } of failed) left.delete(rcpt);
      await write();
    }
    return [...left.values()];
  };
}
