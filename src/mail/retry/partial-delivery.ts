import { messageOf, type Clock, type Log } from "../../kernel/index.ts";
import type { Delivery, DeliveryOutcome, RecordStep } from "../actions/index.ts";
import { isAuthenticatedSender } from "../forwarding/index.ts";
import type { DeliveryResult } from "../messages/index.ts";
import type { Bounces } from "../bounces/index.ts";
import type { RetryQueue, RetryRecipient } from "./types.ts";

interface PartialDeliveryDeps {
  retries?: Pick<RetryQueue, "add"> | undefined;
  bounces?: Pick<Bounces, "bounce"> | undefined;
  recordStep: RecordStep;
  clock: Pick<Clock, "now">;
  log: Log;
}

type Failed = DeliveryOutcome & { result: Extract<DeliveryResult, { ok: false }> };

/**
 * Decides which results of a message with several recipients the SMTP reply reports, since SMTP has one reply after
 * DATA (RFC 5321 4.1.1.4):
 *
 * - If no recipient has the message, every failure is reported, and the sender keeps the message.
 * - If some recipient has it, a rejection would make the sender deliver it twice or report it as lost, so the message
 *   is accepted. Temporary failures go to the retry queue, and permanent ones are bounced to the sender.
 *
 * A failure that can be neither queued nor bounced remains in the results: a duplicate is better than a loss.
 * `combineReplies` (in inbound) composes the reply for the remaining failures.
 */
export function createPartialDelivery({ retries, bounces, recordStep, clock, log }: PartialDeliveryDeps) {
  function traceFailed(
    message: string,
    { result: { rcpt, temporary, reply }, account, zone }: Failed,
    more: Record<string, unknown> = {},
  ) {
    recordStep(message, temporary ? "deferred" : "rejected", { ...reply, ...more }, { rcpt, account, zone });
  }

  async function enqueue(
    { envelope, message, verdict }: Delivery,
    failed: Failed[],
    bounce: boolean,
  ): Promise<boolean> {
    if (retries === undefined || failed.length === 0) return failed.length === 0;
    const recipients = failed.map(({ result: { rcpt, reply }, remaining, account, zone }): RetryRecipient => ({
      rcpt,
      reply,
      account,
      zone,
      ...(remaining && remaining.length > 0 && { to: remaining }),
      ...(bounce && { bounce }),
    }));
    try {
      await retries.add({ envelope, source: message.source, verdict, recipients });
      return true;
    } catch (err) {
      log.error(
        { err, message: message.source.id },
        `retry queue: failed to store a message for some of its recipients: ${messageOf(err)}`,
      );
      return false;
    }
  }

  /** Undefined if the report could not be stored. */
  async function bounce(
    { envelope, message: { source }, verdict }: Delivery,
    failed: Failed[],
  ): Promise<boolean | undefined> {
    const { account, zone } = failed[0]!;
    const recipients = failed.map(({ result: { rcpt, reply } }) => ({ rcpt, reply }));
    try {
      return await bounces!.bounce({
        inbound: { id: source.id },
        account,
        zone,
        envelope,
        senderAuthenticated: isAuthenticatedSender(envelope, verdict),
        recipients,
        source,
        arrivedAt: new Date(clock.now()),
      });
    } catch (err) {
      log.warn({ err, message: source.id }, `bounces: failed to report rejections, will retry: ${messageOf(err)}`);
      return undefined;
    }
  }

  /** `delivery` is undefined for a message that failed authentication: all its failures are reported. */
  return async (
    id: string,
    delivery: Delivery | undefined,
    outcomes: readonly DeliveryOutcome[],
  ): Promise<DeliveryResult[]> => {
    const failed = outcomes.filter((one): one is Failed => !one.result.ok);
    const [temporaryFailures, permanentFailures] = [
      failed.filter(({ result }) => result.temporary),
      failed.filter(({ result }) => !result.temporary),
    ];
    const handledOutcomes = new Set<DeliveryOutcome>();
    const markHandled = (failedSubset: Failed[], detail: Record<string, unknown>) => {
      for (const one of failedSubset) {
        handledOutcomes.add(one);
        traceFailed(id, one, detail);
      }
    };
    if (
      delivery !== undefined &&
      failed.length > 0 &&
      failed.length < outcomes.length &&
      (await enqueue(delivery, temporaryFailures, false))
    ) {
      markHandled(temporaryFailures, { held: true });
      if (permanentFailures.length > 0 && bounces !== undefined) {
        const bounceReport = await bounce(delivery, permanentFailures);
        if (bounceReport !== undefined) markHandled(permanentFailures, { told: bounceReport });
        else if (await enqueue(delivery, permanentFailures, true)) markHandled(permanentFailures, { held: true });
      }
    }
    return outcomes.map((one): DeliveryResult => {
      const { result } = one;
      if (result.ok || handledOutcomes.has(one)) return { rcpt: result.rcpt, ok: true };
      traceFailed(id, one as Failed);
      return result;
    });
  };
}
