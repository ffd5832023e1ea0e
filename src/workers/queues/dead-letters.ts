import type { Clock, Log } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import type { MessagesTable } from "./messages-table.ts";
import type { Consumer, Queue, Queues } from "./port.ts";
import { QUEUES_TOPIC } from "./queues.ts";
import type { QueueMessageRow } from "./schema.ts";

/** Handles messages whose retries are exhausted. */
export interface DeadLetters {
  /**
   * Moves leased messages to the consumer's dead letter queue, which is created if it does not exist. Deletes them if
   * the consumer has none. Resolves with the number of messages that this token still leased.
   */
  move(
    queue: Queue,
    consumer: Pick<Consumer, "deadLetterQueue" | "maxRetries">,
    token: string,
    rows: readonly QueueMessageRow[],
  ): Promise<number>;
}

interface DeadLettersDeps {
  table: MessagesTable;
  queues: Pick<Queues, "ensure">;
  events: Events;
  clock: Clock;
  log: Log;
}

export const createDeadLetters = ({ table, queues, events, clock, log }: DeadLettersDeps): DeadLetters => ({
  async move(queue, { deadLetterQueue, maxRetries }, token, rows) {
    if (rows.length === 0) return 0;
    const messages = rows.map(({ id }) => id);
    if (deadLetterQueue === undefined) {
      log.warn(
        { queue: queue.name, messages: rows.length, maxRetries },
        "queues: messages dropped after their last retry",
      );
      return table.acknowledge(token, messages);
    }
    const target = await queues.ensure(queue.account, deadLetterQueue);
    const now = clock.now();
    const movedIds = await table.release(token, messages, {
      queue_id: target.id,
      due_at: now,
      attempts: 0,
      expires_at: now + target.retention * 1000,
    });
    events.publish(QUEUES_TOPIC, target.id);
    return movedIds;
  },
});

/** Returns the column values of a message that is redelivered after `delay` seconds. */
export const retryColumns = (now: number, delay: number): Pick<QueueMessageRow, "due_at"> => ({
  due_at: now + delay * 1000,
});
