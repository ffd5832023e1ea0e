import type { QueueOutcome } from "../runtime/port.ts";
import type { Consumer } from "./port.ts";
import type { QueueMessageRow } from "./schema.ts";

interface BatchDecision {
  acknowledged: string[];
  /** Ids of messages to redeliver, by delay in seconds. */
  retried: Map<number, string[]>;
  /** Messages whose retries are exhausted. */
  deadLettered: QueueMessageRow[];
}

/**
 * Decides which messages of a batch are acknowledged, retried or dead-lettered. A decision about a message takes
 * precedence over one about the batch, which takes precedence over the result of the handler.
 * https://developers.cloudflare.com/queues/configuration/batching-retries/
 */
export function decideBatch(
  { outcome, ackAll, retryAll, acks, retries }: QueueOutcome,
  rows: readonly QueueMessageRow[],
  { maxRetries, retryDelay = 0 }: Pick<Consumer, "maxRetries" | "retryDelay">,
): BatchDecision {
  const decision: BatchDecision = { acknowledged: [], retried: new Map(), deadLettered: [] };
  const ownRetries = new Map(retries.map((retry) => [retry.id, retry]));
  const ackedIds = new Set(acks);
  const isSuccessful = ackAll || (retryAll === undefined && outcome === "ok");
  for (const row of rows) {
    const retry = ownRetries.get(row.id);
    if (ackedIds.has(row.id) || (retry === undefined && isSuccessful)) decision.acknowledged.push(row.id);
    else if (row.attempts > maxRetries) decision.deadLettered.push(row);
    else {
      const delay = retry?.delaySeconds ?? retryAll?.delaySeconds ?? retryDelay;
      decision.retried.set(delay, [...(decision.retried.get(delay) ?? []), row.id]);
    }
  }
  return decision;
}
