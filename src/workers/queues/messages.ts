import type { Clock, Ids } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import { createBacklogs } from "./backlogs.ts";
import { queueErrors } from "./errors.ts";
import { queueLimits } from "./limits.ts";
import type { MessagesTable } from "./messages-table.ts";
import type { NewMessage, QueueContentType, QueueMessage, QueueMessages } from "./port.ts";
import { QUEUES_TOPIC } from "./queues.ts";
import type { QueueMessageRow } from "./schema.ts";
import { retryColumns, type DeadLetters } from "./dead-letters.ts";
import type { QueuesTable } from "./queues-table.ts";

interface MessagesDeps {
  table: MessagesTable;
  queues: Pick<QueuesTable, "update">;
  deadLetters: DeadLetters;
  events: Events;
  clock: Clock;
  ids: Pick<Ids, "hex">;
}

export function createQueueMessages({ table, queues, deadLetters, events, clock, ids }: MessagesDeps): QueueMessages {
  const backlogs = createBacklogs({ table, clock });
  let count = 0;

  /** Returns 32 hex digits that sort by time, even within a millisecond. */
  function nextId(now: number): string {
    count = (count + 1) % 0x100000;
    return now.toString(16).padStart(12, "0") + count.toString(16).padStart(5, "0") + ids.hex().slice(17);
  }

  return {
    async send(queue, messages) {
      checkMessages(messages);
      const { backlogBytes } = await backlogs.get(queue.id);
      if (backlogBytes > queueLimits.backlogBytes)
        throw queueErrors.storageLimitExceeded({ queue: queue.name, size: backlogBytes });
      const now = clock.now();
      const rows = messages.map(({ contentType, body, delay }): QueueMessageRow => ({
        id: nextId(now),
        queue_id: queue.id,
        content_type: contentType,
        size: body.length,
        sent_at: now,
        due_at: now + (delay ?? queue.deliveryDelay) * 1000,
        expires_at: now + queue.retention * 1000,
        attempts: 0,
        token: null,
        body,
      }));
      if (rows.length > 0) await table.insert(rows);
      backlogs.addMessages(queue.id, rows);
      if (rows.some(({ due_at }) => due_at <= now)) events.publish(QUEUES_TOPIC, queue.id);
      return backlogs.get(queue.id);
    },

    metrics: ({ id }) => backlogs.get(id),

    async pull(queue, { batchSize = queueLimits.pull.batchSize.default, visibilityMs }) {
      const { consumer } = queue;
      if (consumer?.type !== "http_pull") throw queueErrors.notPulled({ queue: queue.name });
      if (queue.deliveryPaused) return [];
      const token = ids.hex();
      const now = clock.now();
      const lease = { token, now, until: now + (visibilityMs ?? consumer.visibilityMs) };
      const claimedRows = await table.claim(queue.id, Math.min(batchSize, queueLimits.pull.batchSize.max), lease);
      const exhaustedRows = claimedRows.filter(({ attempts }) => attempts > consumer.maxRetries + 1);
      await deadLetters.move(queue, consumer, token, exhaustedRows);
      return claimedRows
        .filter((row) => !exhaustedRows.includes(row))
        .map((row) => ({ ...toQueueMessage(row), leaseId: leaseIdOf(row.id, token) }));
    },

    async settle(queue, acks, retries) {
      const { consumer } = queue;
      if (consumer?.type !== "http_pull") throw queueErrors.notPulled({ queue: queue.name });
      for (const { delay } of retries) checkDelay(delay);
      const warnings: Record<string, string> = {};
      async function settleLease(
        leaseId: string,
        run: (id: string, token: string) => Promise<number>,
      ): Promise<number> {
        const [, id, token] = LEASE_ID.exec(Buffer.from(leaseId, "base64url").toString("latin1")) ?? [];
        const settledCount = id === undefined || token === undefined ? 0 : await run(id, token);
        if (settledCount === 0)
          warnings[leaseId] = "The lease has expired or is unknown; the message may be delivered again.";
        return settledCount;
      }
      const sum = async (counts: Promise<number>[]) => (await Promise.all(counts)).reduce((a, b) => a + b, 0);
      const acknowledgedCount = await sum(
        acks.map((leaseId) =>
          settleLease(leaseId, async (id, token) => {
            const row = await table.findLeased(id, token);
            return row?.queue_id === queue.id ? table.acknowledge(token, [id]) : 0;
          }),
        ),
      );
      const retriedCount = await sum(
        retries.map(({ leaseId, delay }) =>
          settleLease(leaseId, async (id, token) => {
            const row = await table.findLeased(id, token);
            if (row === undefined || row.queue_id !== queue.id) return 0;
            if (row.attempts > consumer.maxRetries) return deadLetters.move(queue, consumer, token, [row]);
            return table.release(token, [id], retryColumns(clock.now(), delay ?? consumer.retryDelay ?? 0));
          }),
        ),
      );
      return { acknowledged: acknowledgedCount, retried: retriedCount, warnings };
    },

    peek: async (queue, limit) => (await table.peek(queue.id, clock.now(), limit)).map(toQueueMessage),

    async purge({ id }) {
      const now = clock.now();
      await table.purge(id, now);
      await queues.update(id, { purged_at: now });
      backlogs.forget(id);
    },

    sweep: async () => void (await table.expire(clock.now())),
  };
}

const LEASE_ID = /^([0-9a-f]{32})\.([0-9a-f]{32})$/;
const leaseIdOf = (id: string, token: string) => Buffer.from(`${id}.${token}`).toString("base64url");

export const toQueueMessage = ({ id, content_type, body, sent_at, attempts }: QueueMessageRow): QueueMessage => ({
  id,
  contentType: content_type as QueueContentType,
  body,
  sentAt: new Date(sent_at),
  attempts,
});

function checkMessages(messages: readonly NewMessage[]): void {
  const { messageBytes, batchMessages, batchBytes } = queueLimits;
  if (messages.length > batchMessages)
    throw queueErrors.tooManyMessages({ count: messages.length, limit: batchMessages });
  let total = 0;
  for (const { body, delay } of messages) {
    if (body.length > messageBytes) throw queueErrors.messageTooLarge({ size: body.length, limit: messageBytes });
    checkDelay(delay);
    total += body.length;
  }
  if (total > batchBytes) throw queueErrors.batchTooLarge({ size: total, limit: batchBytes });
}

function checkDelay(delay: number | undefined): void {
  const limit = queueLimits.delaySeconds;
  if (delay !== undefined && !(Number.isInteger(delay) && delay >= 0 && delay <= limit))
    throw queueErrors.badDelay({ delay, limit });
}
