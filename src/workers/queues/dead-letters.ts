import type { Clock, Log } from "../../kernel/index.ts";
import type { Events } from "../../store/index.ts";
import type { MessagesTable } from "./messages-table.ts";
import type { Consumer, Queue, Queues } from "./port.ts";
import { QUEUES_TOPIC } from "./queues.ts";
import type { MessageRow } from "./schema.ts";

/** Messages whose retries are used up. */
export interface DeadLetters {
  /**
   * Moves leased messages to the dead letter queue of the consumer, created if it was deleted; without one, deletes
   * them. Returns how many were still leased by this token.
   */
  move(
    queue: Queue,
    consumer: Pick<Consumer, "deadLetterQueue" | "maxRetries">,
    token: string,
    rows: readonly MessageRow[],
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
      log.warn({ queue: queue.name, messages: rows.length, maxRetries }, "queues: messages dropped after all retries");
      return table.acknowledge(token, messages);
    }
    const target = await queues.ensure(queue.account, deadLetterQueue);
    const now = clock.now();
    const moved = await table.release(token, messages, {
      queue_id: target.id,
      due_at: now,
      attempts: 0,
      expires_at: now + target.retention * 1000,
    });
    events.publish(QUEUES_TOPIC, target.id);
    return moved;
  },
});

/** The columns of a message that is delivered again after `delay` seconds. */
export const retryLater = (now: number, delay: number): Pick<MessageRow, "due_at"> => ({ due_at: now + delay * 1000 });
