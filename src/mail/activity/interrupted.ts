import type { Clock } from "../../kernel/index.ts";
import type { TraceEvent } from "../messages/index.ts";
import type { OutboundQueue, QueuedMessage, QueuedRecipient } from "../outbound/index.ts";
import type { EntriesTable } from "./entries-table.ts";
import type { Writer } from "./writer.ts";

interface InterruptedDeps {
  table: Pick<EntriesTable, "unfinished">;
  writer: Pick<Writer, "add" | "flush">;
  queue: Pick<OutboundQueue, "ofInbound">;
  clock: Pick<Clock, "now">;
}

const BATCH_SIZE = 500;
const MAX_BATCHES = 100;

/** See `Activity.resolveInterrupted`. */
export async function resolveInterrupted(
  { table, writer, queue, clock }: InterruptedDeps,
  changedBefore: number,
): Promise<number> {
  let settledCount = 0;
  for (let n = 0; n < MAX_BATCHES; n++) {
    const rows = await table.unfinished(changedBefore, BATCH_SIZE);
    const queued = Map.groupBy(
      await queue.ofInbound([...new Set(rows.map(({ message }) => message))]),
      ({ message }) => message.inbound!.id,
    );
    for (const { message, rcpt, account_id: account, zone_id: zone } of rows) {
      const owner = { ...(account !== "" && { account }), ...(zone !== "" && { zone }) };
      const copies = (queued.get(message) ?? []).filter(
        (candidate) => candidate.message.inbound!.rcpt?.toLowerCase() === rcpt.toLowerCase(),
      );
      for (const copy of copies)
        for (const recipient of copy.recipients)
          for (const event of eventsOf(copy.message, recipient)) writer.add({ message, rcpt, ...owner, ...event });
      if (!copies.some((copy) => copy.message.cause === "forward"))
        writer.add({ message, rcpt, ...owner, at: new Date(clock.now()), step: "interrupted", detail: {} });
    }
    await writer.flush();
    settledCount += rows.length;
    if (rows.length < BATCH_SIZE) break;
  }
  return settledCount;
}

const STEPS: Partial<Record<QueuedRecipient["state"], TraceEvent["step"]>> = {
  delivered: "delivered",
  deferred: "deferred",
  failed: "bounced",
  expired: "bounced",
};

/** Returns trace events for the state of a queued recipient. */
function eventsOf(
  { id, messageId, cause, createdAt }: QueuedMessage,
  { rcpt: to, state, reply, host, finishedAt }: QueuedRecipient,
): Pick<TraceEvent, "at" | "step" | "detail">[] {
  const detail = { outbound: id, messageId, to, cause };
  const step = STEPS[state];
  const queued = { at: createdAt, step: "queued" as const, detail };
  return step === undefined
    ? [queued]
    : [
        queued,
        { at: finishedAt ?? createdAt, step, detail: { ...detail, ...reply, ...(host !== undefined && { host }) } },
      ];
}
